#include "annotator/lab/worker/checkpoint.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "annotator/lab/worker/clock.h"

namespace hotlens::lab {
namespace {

using std::chrono::nanoseconds;
using torch::autograd::SavedVariable;
using torch::autograd::SavedVariableHooks;

// How tensors that autograd saves are kept, in this thread: as the last one says; empty: as always.
using Keep = std::function<std::unique_ptr<SavedVariableHooks>()>;
thread_local std::vector<Keep> t_keep;

// Blocks that an exception has left open are closed with it.
class Keeping {
 public:
  explicit Keeping(Keep keep) : before_(t_keep.size()) { t_keep.push_back(std::move(keep)); }
  Keeping(const Keeping&) = delete;
  Keeping& operator=(const Keeping&) = delete;
  ~Keeping() { t_keep.resize(before_); }

 private:
  std::size_t before_;
};

// Autograd asks its engine how to keep a tensor.
struct Engine : torch::autograd::Engine {
  std::unique_ptr<SavedVariableHooks> get_default_saved_variable_hooks() override {
    return t_keep.empty() || !t_keep.back() ? nullptr : t_keep.back()();
  }
};

void install_engine() {
  static std::once_flag once;
  std::call_once(once, [] {
    static auto* engine = new Engine();  // its threads may live as long as the process
    torch::autograd::set_default_engine_stub([]() -> torch::autograd::Engine& { return *engine; });
  });
}

at::Tensor random_state() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

void set_random_state(const at::Tensor& state) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state);
}

struct Enough {};  // all that was left out is there again

class LeftOut;

// One call of a block. Every saved tensor that was left out holds it, and so the inputs, until its own node has run.
struct Frame {
  std::int64_t block = -1;
  Blocks::Again again;
  std::vector<SavedVariable> inputs;  // an outer block leaves them out
  std::shared_ptr<std::map<std::int64_t, SecondRun>> runs;
  at::Tensor random;               // the state before the block
  std::vector<LeftOut*> left_out;  // in order; null: nobody needs it any more
  bool ran = false;
};

class LeftOut : public SavedVariableHooks {
 public:
  explicit LeftOut(std::shared_ptr<Frame> frame) : frame_(std::move(frame)) {}
  ~LeftOut() override {
    if (place_ < frame_->left_out.size()) frame_->left_out[place_] = nullptr;
  }

  void call_pack_hook(const at::Tensor& /*tensor*/) override {
    place_ = frame_->left_out.size();
    frame_->left_out.push_back(this);
  }
  at::Tensor call_unpack_hook() override;
  void take(at::Tensor tensor) { tensor_ = std::move(tensor); }

 private:
  std::shared_ptr<Frame> frame_;
  std::size_t place_ = SIZE_MAX;  // nothing is saved for a number
  at::Tensor tensor_;             // made again
};

// What the second run saves is what the first one left out.
class MadeAgain : public SavedVariableHooks {
 public:
  MadeAgain(Frame& frame, std::size_t& next) : frame_(frame), next_(next) {}

  void call_pack_hook(const at::Tensor& tensor) override {
    tensor_ = tensor.requires_grad() ? tensor.detach() : tensor;
    TORCH_CHECK(next_ < frame_.left_out.size(), "the block saves more when it runs again");
    if (LeftOut* const first = frame_.left_out[next_]) first->take(tensor_);
    if (++next_ == frame_.left_out.size()) throw Enough();
  }
  at::Tensor call_unpack_hook() override { return tensor_; }

 private:
  Frame& frame_;
  std::size_t& next_;
  at::Tensor tensor_;
};

void run_again(Frame& frame) {
  frame.ran = true;
  std::vector<at::Tensor> inputs;  // an outer block runs again before this one
  for (const SavedVariable& input : frame.inputs) inputs.push_back(input.unpack());
  const auto begin = now();
  const at::Tensor random = random_state();
  set_random_state(frame.random);
  std::size_t next = 0;
  try {
    const c10::AutoGradMode with_graph(true);
    const Keeping keeping([&] { return std::make_unique<MadeAgain>(frame, next); });
    frame.again(inputs);
  } catch (const Enough&) {
  }
  set_random_state(random);
  SecondRun& run = (*frame.runs)[frame.block];
  run.took += now() - begin;
  run.saved += static_cast<std::int64_t>(frame.left_out.size());
}

at::Tensor LeftOut::call_unpack_hook() {
  if (!frame_->ran) run_again(*frame_);
  TORCH_CHECK(tensor_.defined(), "a saved tensor is asked for twice, or was not made again");
  return std::exchange(tensor_, at::Tensor());
}

}  // namespace

class Blocks::Line {
 public:
  explicit Line(Meter& meter) : meter_(meter), start_(meter.held()) {}

  void mark(std::int64_t block, bool backward) {
    const std::int64_t now = meter_.held(), most = meter_.peak();
    done_.push_back({.block = block_, .backward = backward_, .net = now - start_, .rise = most - start_});
    peak_ = std::max(peak_, most);
    meter_.reset_peak();
    start_ = now;
    block_ = block;
    backward_ = backward;
  }
  std::vector<Segment> done() const { return done_; }
  std::int64_t peak() const { return std::max(peak_, meter_.peak()); }

 private:
  Meter& meter_;
  std::int64_t start_ = 0, peak_ = 0, block_ = -1;
  bool backward_ = false;
  std::vector<Segment> done_;
};

Blocks::Blocks(const BlockPlan& plan, Meter& meter)
    : plan_(plan),
      line_(plan.segments ? std::make_shared<Line>(meter) : nullptr),
      again_(std::make_shared<std::map<std::int64_t, SecondRun>>()) {}

Blocks::~Blocks() {
  t_keep.clear();
}

void Blocks::begin(std::int64_t block, bool checkpointed, const std::vector<at::Tensor>& inputs, Again again) {
  if (t_keep.empty()) {
    block_ = block;
    if (line_) line_->mark(block, false);
  }
  if (plan_.checkpointed ? !plan_.checkpointed->contains(block) : !checkpointed) {
    t_keep.push_back(t_keep.empty() ? Keep() : t_keep.back());
    return;
  }
  install_engine();
  auto frame = std::make_shared<Frame>(
      Frame{.block = block, .again = std::move(again), .inputs = {}, .runs = again_, .random = random_state(), .left_out = {}});
  for (const at::Tensor& input : inputs) frame->inputs.emplace_back(input, false);
  t_keep.emplace_back([frame = std::move(frame)] { return std::make_unique<LeftOut>(frame); });
}

void Blocks::end(const at::Tensor& result) {
  if (!t_keep.empty()) t_keep.pop_back();
  if (line_ && t_keep.empty() && result.requires_grad()) {
    result.register_hook([line = line_, block = block_](const at::Tensor&) { line->mark(block, true); });
  }
}

void Blocks::after_backward() {
  if (line_) line_->mark(-1, true);
}

std::vector<Segment> Blocks::segments() {
  if (!line_) return {};
  line_->mark(-1, true);
  return line_->done();
}

std::int64_t Blocks::peak() const {
  return line_ ? line_->peak() : 0;
}

}  // namespace hotlens::lab
