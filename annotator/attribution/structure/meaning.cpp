#include "annotator/attribution/structure/meaning.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hotlens::attribution {
namespace {

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Meaning stage_meaning(Stage stage) {
  return {Kind::stage, static_cast<std::uint32_t>(stage)};
}

Meaning marker_meaning(std::string_view text) {
  const std::size_t hash = text.find('#');
  if (hash == std::string_view::npos) return {};
  const std::string_view what = text.substr(0, hash);
  const std::string_view rest = text.substr(hash + 1);
  if (what == "stage") {
    const std::optional<Stage> stage = stage_named(rest);
    return stage ? stage_meaning(*stage) : Meaning{};
  }
  const std::optional<std::uint32_t> id = number(rest);
  if (!id) return {};
  if (what == "call") return {Kind::call, *id};
  if (what == "line") return {Kind::line, *id};
  if (what == "rest") return {Kind::rest, *id};
  if (what == "param") return {Kind::param, *id};
  if (what == "part") return {Kind::part, *id};
  return {};
}

constexpr std::size_t kLongestStageName = 40;  // bytes; whoever names a stage is brief

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Lower-case letters alone: "## Zero-Grad 3 ##" and "zero_grad" are one name.
std::string letters(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (is_letter(c)) result += static_cast<char>(c | 0x20);
  }
  return result;
}

// True when `word` stands in `text` with no letter of the same word beside it: in "compute_loss" and "MSELoss", not in "lossless".
bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = 0; at + word.size() <= text.size(); ++at) {
    if (letters(text.substr(at, word.size())) != word) continue;
    const bool capital = text[at] >= 'A' && text[at] <= 'Z';
    const bool begins = at == 0 || !is_letter(text[at - 1]) || capital;
    const std::size_t after = at + word.size();
    const bool ends = after == text.size() || !is_letter(text[after]) || (text[after] >= 'A' && text[after] <= 'Z');
    if (begins && ends) return true;
  }
  return false;
}

// "hid=1 Load Data", "fetchNextBatch": words in lower case. A word ends where letters do, and before a capital that follows a small letter.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool inside = false;
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (!is_letter(name[at])) {
      inside = false;
      continue;
    }
    const bool capital = name[at] <= 'Z';
    if (!inside || (capital && name[at - 1] > 'Z')) words.emplace_back();
    words.back() += static_cast<char>(name[at] | 0x20);
    inside = true;
  }
  return words;
}

// What loads, what is loaded, and what may stand between the two. "get" and "next" fit what a model does too ("get_input_embeddings"):
// they load batches and data only.
constexpr auto kLoads = std::to_array<std::string_view>({"load", "loading", "fetch", "fetching", "prefetch", "read", "reading"});
constexpr auto kGets =
    std::to_array<std::string_view>({"get", "getting", "next", "load", "loading", "fetch", "fetching", "prefetch", "read", "reading"});
constexpr auto kInputs = std::to_array<std::string_view>({"input", "inputs", "sample", "samples", "example", "examples"});
constexpr auto kBatches = std::to_array<std::string_view>({"data", "dataset", "batch", "batches", "minibatch"});
constexpr auto kBetween =
    std::to_array<std::string_view>({"the", "a", "next", "new", "one", "mini", "raw", "train", "training", "val", "input"});

// Ranges that load data, whatever else stands in their name.
bool loads_data(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  const auto is = [](std::string_view word, const auto& list) { return std::ranges::find(list, word) != list.end(); };
  const auto pair = [&](std::string_view a, std::string_view b) {
    return (is(a, kGets) && is(b, kBatches)) || (is(a, kLoads) && is(b, kInputs));
  };
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "dataload" || word == "dataloader" || word == "dataloading" || word == "tokenize" || word == "tokenizing") return true;
    std::size_t next = at + 1;
    if (next < words.size() && (pair(word, words[next]) || (word != "next" && word != "get" && pair(words[next], word)))) return true;
    while (next < words.size() && is(words[next], kBetween)) ++next;
    if (next < words.size() && pair(word, words[next])) return true;
  }
  return false;
}

// How people call the stages of a loop in record_function and NVTX ranges.
constexpr auto kStageNames = std::to_array<std::pair<std::string_view, Stage>>({
    {"data", Stage::data},
    {"loaddata", Stage::data},
    {"loadbatch", Stage::data},
    {"getbatch", Stage::data},
    {"nextbatch", Stage::data},
    {"fetchbatch", Stage::data},
    {"batchgeneration", Stage::data},
    {"zerograd", Stage::zero_grad},
    {"optimizerzerograd", Stage::zero_grad},
    {"zerogradients", Stage::zero_grad},
    {"forward", Stage::forward},
    {"fwd", Stage::forward},
    {"forwardpass", Stage::forward},
    {"modelforward", Stage::forward},
    {"backward", Stage::backward},
    {"bwd", Stage::backward},
    {"backwardpass", Stage::backward},
    {"lossbackward", Stage::backward},
    {"backprop", Stage::backward},
    {"backpropagation", Stage::backward},
    {"optimizer", Stage::optimizer},
    {"optimizerstep", Stage::optimizer},
    {"optim", Stage::optimizer},
    {"optimstep", Stage::optimizer},
    {"opt", Stage::optimizer},
    {"optstep", Stage::optimizer},
    {"optimizerupdate", Stage::optimizer},
    {"weightupdate", Stage::optimizer},
    {"parameterupdate", Stage::optimizer},
    {"updateparameters", Stage::optimizer},
    {"evaluation", Stage::evaluation},
    {"evaluate", Stage::evaluation},
    {"validation", Stage::evaluation},
    {"validate", Stage::evaluation},
});

std::optional<Stage> stage_as_written(std::string_view name) {
  if (name.size() > kLongestStageName) return std::nullopt;
  const std::string plain = letters(name);
  const auto known = std::ranges::find(kStageNames, plain, [](const auto& entry) { return entry.first; });
  if (known != kStageNames.end()) return known->second;
  if (has_word(name, "loss") || plain == "criterion") return Stage::loss;
  return loads_data(name) ? std::optional(Stage::data) : std::nullopt;
}

// "AddmmBackward", "AddmmBackward0", "torch::autograd::CopyBackwards": up to torch 1.8 they stand without an evaluation around them, and
// numbers. Kernels' own operators are spelled in lower case ("aten::convolution_backward").
bool is_autograd_node(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name.ends_with("Backward") || name.ends_with("Backwards");
}

// Parts that only names of communication have, in lower case: libraries first, then the collectives that frameworks implement themselves
// (vLLM's and TensorRT-LLM's all-reduce kernels, torch's symmetric memory, DeepEP, TransformerEngine's user buffers).
constexpr auto kCommunication = std::to_array<std::string_view>({"nccl",
                                                                 "rccl",
                                                                 "gloo:",
                                                                 "c10d::",
                                                                 "c10d_functional",
                                                                 "mscclpp",
                                                                 "msccl",
                                                                 "oneccl",
                                                                 "mpi:",
                                                                 "ucc:",
                                                                 "nvshmem",
                                                                 "symm_mem::",
                                                                 "userbuffers_",
                                                                 "deep_ep",
                                                                 "allreduce",
                                                                 "all_reduce",
                                                                 "all-reduce",
                                                                 "reducescatter",
                                                                 "reduce_scatter",
                                                                 "allgather",
                                                                 "all_gather",
                                                                 "alltoall",
                                                                 "all_to_all",
                                                                 "sendrecv",
                                                                 "cross_device_reduce",
                                                                 "record_param_comms"});

// A fused Triton kernel carries the names of the operators around it; what it does is arithmetic. Names of a kernel's template arguments
// say nothing of the kernel.
bool communicates(std::string_view name) {
  if (name.starts_with("triton_")) return false;
  constexpr std::size_t kTelling = 256;  // bytes; the kernel's own name stands in front
  std::string lower(name.substr(0, kTelling));
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  return std::ranges::any_of(kCommunication, [&](std::string_view part) { return lower.find(part) != std::string::npos; });
}

// Calls that return only after the device has done what they ask for. Of the copies those without "Async" in their name; HIP's
// hipMemcpyWithStream is one, whatever it seems to say. Driver calls carry a version ("cuMemcpyDtoH_v2"), calls of a program built for
// per-thread streams a suffix ("_ptsz").
bool is_wait(std::string_view name) {
  const bool runtime = name.starts_with("cuda") || name.starts_with("hip");
  if (!runtime && !name.starts_with("cu")) return false;
  const std::string_view call = name.substr(runtime ? (name.starts_with("cuda") ? 4 : 3) : 2);
  if (call.starts_with("Memcpy")) return !call.contains("Async") && !call.contains("Batch");
  constexpr std::array<std::string_view, 5> kSynchronize = {"StreamSynchronize", "DeviceSynchronize", "EventSynchronize", "CtxSynchronize",
                                                            "ThreadSynchronize"};
  return std::ranges::any_of(kSynchronize, [&](std::string_view each) { return call.starts_with(each); });
}

// A call that launches a graph: all work of it at once.
bool is_replay(std::string_view name) {
  return name.starts_with("cudaGraphLaunch") || name.starts_with("cuGraphLaunch") || name.starts_with("hipGraphLaunch");
}

bool is_loss(std::string_view op) {
  return op.find("_loss") != std::string_view::npos || op.starts_with("binary_cross_entropy") || op == "kl_div" || op == "log_softmax" ||
         op == "_log_softmax";
}

}  // namespace

Meaning meaning_of_range(std::string_view name) {
  constexpr std::string_view kMarker = "hotlens.";
  constexpr std::string_view kStep = "ProfilerStep#";
  if (name.starts_with(kMarker)) return marker_meaning(name.substr(kMarker.size()));
  if (name.starts_with(kStep)) {
    const std::optional<std::uint32_t> index = number(name.substr(kStep.size()));
    return index ? Meaning{Kind::step, *index} : Meaning{};
  }
  // torch makes a range of it where shapes are recorded, an operator elsewhere.
  if (name.starts_with("## Call CompiledFxGraph ")) return {Kind::op, 0};
  if (name.starts_with("enumerate(DataLoader)")) return stage_meaning(Stage::data);
  if (name.starts_with("Optimizer.zero_grad")) return stage_meaning(Stage::zero_grad);
  if (name.starts_with("Optimizer.step")) return stage_meaning(Stage::optimizer);
  if (const std::optional<Stage> stage = stage_as_written(name)) return stage_meaning(*stage);
  return name.empty() || communicates(name) ? Meaning{} : Meaning{Kind::range, 0};
}

Traits traits_of(std::string_view name) {
  Traits traits;
  traits.accumulates = name.find("AccumulateGrad") != std::string_view::npos;
  traits.backward = name.starts_with("autograd::engine::evaluate_function") || traits.accumulates || is_autograd_node(name);
  traits.communicates = communicates(name);
  traits.waits = is_wait(name);
  traits.replays = is_replay(name);
  constexpr std::string_view kAten = "aten::";
  if (!name.starts_with(kAten)) return traits;
  const std::string_view op = name.substr(kAten.size());
  traits.moves = op == "to" || op == "_to_copy" || op == "copy_" || op == "_copy_from";
  traits.loss = is_loss(op);
  traits.zeroes = op == "zero_" || op == "_foreach_zero_";
  traits.in_place = op.ends_with('_') && op != "copy_" && op != "detach_" && op != "requires_grad_";
  traits.reads_back = op == "item" || op == "_local_scalar_dense" || op == "is_nonzero" || op == "equal" || op == "detach" || op == "cpu";
  return traits;
}

}  // namespace hotlens::attribution
