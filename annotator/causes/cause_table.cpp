#include "annotator/causes/cause_table.h"

#include <algorithm>

namespace hotlens::causes {

using profile::Cause;

const std::array<CauseRow, profile::kCauses> kCauseTable = {{
    {Cause::data, "device idle, host loads data", "host loads data", "the device idles and the host is in a range that loads data"},
    {Cause::copy, "copies between host and device", "copies between host and device",
     "the device copies to or from the host, or idles while the host is in an operator that moves data to it"},
    {Cause::sync, "device idle during a synchronisation", "host waits",
     "the device idles, nothing is queued, and the host is inside a synchronisation or a call that returns when its copy is done"},
    {Cause::launch, "device idle, waiting for launches", "overhead of Python and operators",
     "the device idles and the host is in an operator, between two less than a millisecond apart, or in the launch of what runs next"},
    {Cause::compute, "products, convolutions, attention", "products, convolutions, attention",
     "a product, a convolution or attention runs"},
    {Cause::memory, "operators that mostly move data", "operators that mostly move data", "any other kernel of a known family runs"},
    {Cause::communication, "exposed communication", "communication between processes", "communication runs and nothing else does"},
    {Cause::host, "device idle, host runs other code", "host code outside operators",
     "the device idles and the host is outside every operator for a millisecond and more"},
    {Cause::queued, "device idle although work is queued", "work is queued",
     "the device idles, and the launch of what runs next had returned by then, or more than 50 \u00b5s before it began"},
    {Cause::other, "kernels of unknown kind", "operators of unknown kind", "a kernel of no known family runs"},
    {Cause::thin_products, "products bound by their operands", "products bound by their operands",
     "a product runs whose recorded shapes leave too little arithmetic for the bytes it reads"},
    {Cause::unrecorded, "device idle, host not recorded", "host not recorded",
     "the device idles before the first or after the last event of the host"},
}};

std::string_view words_on_path(Cause cause) {
  if (cause == Cause::communication) return "communication, also what is hidden";
  constexpr std::array kOfHost{Cause::data, Cause::sync, Cause::launch, Cause::host, Cause::queued, Cause::unrecorded};
  return words_of(cause, std::ranges::find(kOfHost, cause) == kOfHost.end());
}

std::string_view words_of(Cause cause, bool has_device) {
  const CauseRow& row = kCauseTable[static_cast<std::size_t>(cause)];
  return has_device ? row.with_device : row.alone;
}

}  // namespace hotlens::causes
