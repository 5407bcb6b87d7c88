#include "annotator/ranks/exchange.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_map>
#include <utility>

namespace hotlens::ranks {
namespace {

using attribution::Work;
using trace::Category;
using trace::kNone;

constexpr std::array kOperations = std::to_array<std::pair<std::string_view, std::string_view>>({{"allreduce", "all_reduce"},
                                                                                                 {"crossdevicereduce", "all_reduce"},
                                                                                                 {"reducescatter", "reduce_scatter"},
                                                                                                 {"allgather", "all_gather"},
                                                                                                 {"alltoall", "all_to_all"},
                                                                                                 {"broadcast", "broadcast"},
                                                                                                 {"barrier", "barrier"},
                                                                                                 {"gather", "gather"},
                                                                                                 {"scatter", "scatter"},
                                                                                                 {"sendrecv", "all_to_all"},
                                                                                                 {"reduce", "reduce"},
                                                                                                 {"send", "send"},
                                                                                                 {"recv", "recv"}});

// Bytes of an element, by the end of its type's name: c10's "Float", C++'s "c10::BFloat16", "long int".
std::optional<std::int64_t> bytes_of_type(std::string_view type) {
  static constexpr auto kSizes = std::to_array<std::pair<std::string_view, std::int64_t>>(
      {{"BFloat16", 2}, {"Half", 2}, {"Float", 4}, {"float", 4}, {"Double", 8},        {"double", 8},      {"Long", 8},
       {"long int", 8}, {"Int", 4},  {"int", 4},   {"Short", 2}, {"short", 2},         {"short int", 2},   {"Byte", 1},
       {"Char", 1},     {"Bool", 1}, {"bool", 1},  {"char", 1},  {"unsigned char", 1}, {"signed char", 1}, {"ComplexFloat", 8}});
  if (type.starts_with("c10::")) type.remove_prefix(5);
  if (type.starts_with("Float8")) return 1;
  const auto size = std::ranges::find(kSizes, type, &std::pair<std::string_view, std::int64_t>::first);
  return size == kSizes.end() ? std::nullopt : std::optional(size->second);
}

std::optional<std::int64_t> known(std::int64_t number) {
  return number < 0 ? std::nullopt : std::optional(number);
}

class Finder {
 public:
  explicit Finder(const profile::Annotated& annotated) : annotated_(annotated), trace_(annotated.trace) {}

  std::vector<Collective> find() && {
    list_host_rows();
    for (const Work& work : annotated_.account.work) {
      if (work.owner.communicates) add_device(work);
    }
    const bool nccl_ran = !found_.empty();
    for (std::size_t row = 0; row < trace_.messages.size(); ++row) {
      if (runs_on_host(row) && !(nccl_ran && backend_of(row) == "nccl")) add_host(row);
    }
    std::erase_if(found_, [](const Collective& one) { return one.operation == "send" || one.operation == "recv"; });
    std::ranges::stable_sort(found_, {}, &Collective::start);
    return std::move(found_);
  }

 private:
  std::string text(trace::NameId id) const { return id.valid() ? std::string(trace_.inputs_text[id]) : std::string(); }
  std::uint32_t event(std::size_t row) const { return trace_.messages.event[row]; }

  std::string_view backend_of(std::size_t row) const {
    const std::string_view name = trace_.names[trace_.events.name[event(row)]];
    return name.substr(0, name.find(':'));
  }

  bool runs_on_host(std::size_t row) const {
    return trace_.events.category[event(row)] == Category::annotation && backend_of(row) != "nccl";
  }

  void list_host_rows() {
    for (std::size_t row = 0; row < trace_.messages.size(); ++row) {
      const Category category = trace_.events.category[event(row)];
      if (category == Category::cpu_op || category == Category::annotation) rows_of_[trace_.events.thread[event(row)].index].push_back(row);
    }
    for (auto& [thread, rows] : rows_of_) {
      std::ranges::stable_sort(rows, {}, [&](std::size_t row) { return trace_.events.start[event(row)]; });
    }
  }

  // Rows of the kernel itself, then of the host's ranges around its launch, innermost first.
  std::vector<std::size_t> rows_of(const Work& work) const {
    std::vector<std::size_t> rows;
    if (const auto own = trace::row_of(trace_.messages.event, work.event)) rows.push_back(*own);
    if (work.launch == attribution::kNoNode) return rows;
    const std::uint32_t launch = annotated_.forest.event[work.launch];
    const auto thread = rows_of_.find(trace_.events.thread[launch].index);
    if (thread == rows_of_.end()) return rows;
    constexpr int kAround = 4;  // record_param_comms and the backend's range, each perhaps twice
    auto at = std::ranges::upper_bound(thread->second, work.launched, {}, [&](std::size_t row) { return trace_.events.start[event(row)]; });
    for (int looked = 0; looked < kAround && at != thread->second.begin(); ++looked) {
      --at;
      if (trace_.events.end(event(*at)) >= work.launched) rows.push_back(*at);
    }
    return rows;
  }

  void add_device(const Work& work) {
    Collective one{.operation = {}, .group = {}, .type = {}, .start = work.start, .end = work.end};
    for (const std::size_t row : rows_of(work)) fill(row, one);
    const std::string_view name = trace_.names[trace_.events.name[work.event]];
    if (one.operation.empty()) one.operation = operation_named(name);
    if (one.group.empty()) one.group = trace_.recording.backend.empty() ? "device" : trace_.recording.backend;
    settle(one);
    one.step = step_at(work.launch == attribution::kNoNode ? work.start : work.launched);
    if (!found_.empty() && one.sequence && continues(found_.back(), one)) {
      found_.back().end = std::max(found_.back().end, one.end);
    } else {
      found_.push_back(std::move(one));
    }
  }

  // One collective may be several kernels.
  static bool continues(const Collective& before, const Collective& one) {
    return before.sequence == one.sequence && before.group == one.group && before.operation == one.operation;
  }

  void add_host(std::size_t row) {
    Collective one{
        .operation = {}, .group = {}, .type = {}, .start = trace_.events.start[event(row)], .end = trace_.events.end(event(row))};
    fill(row, one);
    if (one.group.empty()) one.group = backend_of(row);
    settle(one);
    one.step = step_at(one.start);
    found_.push_back(std::move(one));
  }

  // What is not known yet.
  void fill(std::size_t row, Collective& one) {
    const trace::Messages& messages = trace_.messages;
    if (one.operation.empty()) one.operation = operation_named(text(messages.operation[row]));
    if (one.group.empty()) one.group = text(messages.group[row]);
    if (one.type.empty() || !one.elements) {
      one.type = text(messages.type[row]);
      one.elements = known(messages.in[row]);
      gathered_ = known(messages.out[row]);
    }
    if (!one.sequence) one.sequence = known(messages.sequence[row]);
    if (!one.group_size) one.group_size = known(messages.group_size[row]);
  }

  // nccl-tests: an all-gather's size is what each gets, all others' what each gives.
  void settle(Collective& one) {
    if (!one.group_size) one.group_size = trace_.recording.world_size;
    const std::optional<std::int64_t> gathered = std::exchange(gathered_, std::nullopt);
    std::optional<std::int64_t> elements = one.elements;
    if (one.operation == "all_gather") elements = gathered;
    if (one.operation == "all_gather" && !gathered && one.elements && one.group_size) {
      std::int64_t product = 0;
      if (!__builtin_mul_overflow(*one.elements, *one.group_size, &product)) elements = product;
    }
    const std::optional<std::int64_t> size = bytes_of_type(one.type);
    std::int64_t bytes = 0;
    if (elements && size && !__builtin_mul_overflow(*elements, *size, &bytes)) one.bytes = Bytes{bytes};
  }

  std::size_t step_at(Ns when) const {
    const auto& spans = annotated_.steps.spans;
    const auto at = std::ranges::upper_bound(spans, when, {}, &attribution::StepSpan::end);
    return std::min(static_cast<std::size_t>(at - spans.begin()), spans.size() - 1);
  }

  const profile::Annotated& annotated_;
  const trace::Trace& trace_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> rows_of_;  // by thread, by start
  std::optional<std::int64_t> gathered_;                                 // elements that each gets, of the collective at hand
  std::vector<Collective> found_;
};

}  // namespace

std::string operation_named(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c != '_') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const auto at = std::ranges::find_if(kOperations, [&](const auto& each) { return letters.contains(each.first); });
  return at == kOperations.end() ? std::string(name) : std::string(at->second);
}

std::string algorithm_named(std::string_view kernel) {
  // Longer names that hold shorter ones come first.
  static constexpr auto kAlgorithms = std::to_array<std::pair<std::string_view, std::string_view>>({{"_NVLS_TREE", "NVLS tree"},
                                                                                                    {"_NVLS", "NVLS"},
                                                                                                    {"_COLLNET_DIRECT", "CollNet direct"},
                                                                                                    {"_COLLNET_CHAIN", "CollNet chain"},
                                                                                                    {"_COLLNET", "CollNet"},
                                                                                                    {"_RING", "ring"},
                                                                                                    {"_TREE", "tree"},
                                                                                                    {"_PAT", "PAT"}});
  static constexpr auto kProtocols = std::to_array<std::string_view>({"_LL128", "_LL", "_SIMPLE"});
  if (!kernel.starts_with("nccl") && !kernel.starts_with("rccl")) return {};
  const auto algorithm = std::ranges::find_if(kAlgorithms, [&](const auto& each) { return kernel.contains(each.first); });
  if (algorithm == kAlgorithms.end()) return {};
  const auto protocol = std::ranges::find_if(kProtocols, [&](std::string_view each) { return kernel.contains(each); });
  std::string words(algorithm->second);
  if (protocol != kProtocols.end()) words += ", " + (*protocol == "_SIMPLE" ? std::string("simple") : std::string(protocol->substr(1)));
  return words;
}

std::vector<Collective> collectives_of(const profile::Annotated& annotated) {
  return Finder(annotated).find();
}

}  // namespace hotlens::ranks
