#include <nlohmann/json.hpp>
#include <ostream>

#include "annotator/report/export/csv.h"

namespace hotlens::report {
namespace {

// RFC 4180, and OWASP's rule against formulas: a cell that begins like one gets an apostrophe in front, which spreadsheets show as text.
std::string cell(std::string_view text) {
  std::string quoted = "\"";
  if (!text.empty() && std::string_view("=+-@\t\r\n").find(text.front()) != std::string_view::npos) quoted += '\'';
  for (const char c : text) {
    if (c == '"') quoted += '"';
    if (c != '\0') quoted += c;
  }
  return quoted + '"';
}

// What is no UTF-8 becomes U+FFFD.
std::string utf8(std::string_view text) {
  using Json = nlohmann::json;
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

std::string number(const std::optional<Bytes>& bytes) {
  return bytes ? std::to_string(count(*bytes)) : "";
}

void write_times(std::ostream& out, const profile::Times& times) {
  for (const Ns time : {times.cpu_total, times.cpu_self, times.device, times.span}) out << ',' << time.count();
}

}  // namespace

void export_csv(const profile::Profile& profile, std::ostream& out) {
  out << "path,class,how,calls,forward_cpu_total_ns,forward_cpu_self_ns,forward_device_ns,forward_span_ns,backward_cpu_total_ns,"
         "backward_cpu_self_ns,backward_device_ns,backward_span_ns,parameters_bytes,gradients_bytes,optimizer_bytes,activations_bytes\r\n";
  for (const profile::Module& module : profile.modules) {
    out << cell(utf8(module.path)) << ',' << cell(utf8(module.class_name)) << ',' << name(module.how) << ',' << module.calls;
    write_times(out, profile.shown(module.forward));
    write_times(out, profile.shown(module.backward));
    out << ',' << number(module.memory.parameters) << ',' << number(module.memory.gradients) << ',' << number(module.memory.optimizer)
        << ',' << number(module.memory.activations) << "\r\n";
  }
}

}  // namespace hotlens::report
