#include <algorithm>
#include <array>

#include "annotator/advice/rules/places.h"
#include "annotator/advice/sweep/sweep.h"
#include "annotator/profile/source_text.h"
#include "annotator/source/outline/lexer.h"

namespace hotlens::sweep {
namespace {

struct Kind {
  std::string_view kind, what;
  bool stops;
};
constexpr Kind kRnn{"fused_rnn", "nn.LSTM, nn.GRU, nn.RNN: vmap has no rule for them; a loop over nn.LSTMCell or nn.GRUCell can be stacked",
                    true};
constexpr Kind kReads{"reads_value", "`.item()`, float() or `if` on a tensor: each of the stacked models has a value of its own", true};
constexpr Kind kShapes{"sizes_depend_on_values", "how many elements are chosen depends on their values; torch.where keeps the size", true};
constexpr Kind kCompiled{"compiled", "the step runs compiled code; stack the plain model and compile the stacked step", true};
constexpr Kind kRanks{"several_processes", "several processes train together; stack the models of one", true};
constexpr Kind kNorm{"batch_norm", "BatchNorm: each model has running statistics of its own; stack the buffers too, and give them to vmap",
                     false};
constexpr Kind kDropout{"dropout", "Dropout: vmap needs randomness=\"different\", and the random numbers are not those of separate runs",
                        false};
constexpr Kind kClip{"clip_grad_norm",
                     "clip_grad_norm_: each model needs a norm of its own, over all dimensions of a stacked gradient but the first", false};

class Search {
 public:
  explicit Search(const profile::Loaded& loaded) : loaded_(loaded), profile_(*loaded.profile) {}

  std::vector<Obstacle> run() {
    if (profile_.ranks.size() > 1) add(kRanks, std::nullopt);
    if (profile_.compiled) add(kCompiled, std::nullopt);
    modules();
    operators();
    clipping();
    std::ranges::stable_sort(found_, std::ranges::greater{}, &Obstacle::stops);
    return std::move(found_);
  }

 private:
  void add(const Kind& kind, const std::optional<Place>& where) {
    const auto known = std::ranges::find_if(found_, [&](const Obstacle& one) { return one.kind == kind.kind && one.where == where; });
    if (known != found_.end()) {
      ++known->count;
    } else {
      found_.push_back({.kind = std::string(kind.kind), .what = std::string(kind.what), .stops = kind.stops, .where = where});
    }
  }

  std::optional<Place> place(const std::optional<profile::Site>& site) const {
    if (!site || site->file.index >= profile_.files.size()) return std::nullopt;
    return Place{profile_.files[site->file.index].path.string(), site->line};
  }

  void modules() {
    for (const profile::Module& module : profile_.modules) {
      if (module.same_as.valid() || module.calls == 0) continue;
      const std::string_view type = module.class_name;
      const auto site = place(module.attached ? module.attached : module.constructed);
      if (type == "LSTM" || type == "GRU" || type == "RNN") add(kRnn, site);
      if (type.contains("BatchNorm")) add(kNorm, site);
      if (type.contains("Dropout")) add(kDropout, site);
    }
  }

  // Of the forward pass of a module, in the step that is shown.
  void operators() {
    const profile::Annotated& annotated = loaded_.annotated;
    const std::vector<kernels::KernelName> no_kernels;
    const rules::Recording recording{.trace = annotated.trace,
                                     .forest = annotated.forest,
                                     .owners = annotated.owners,
                                     .account = annotated.account,
                                     .model = annotated.model ? &*annotated.model : nullptr,
                                     .profile = profile_,
                                     .kernels = no_kernels};
    if (annotated.account.steps.empty()) return;
    std::vector<const Kind*> kind_of(annotated.trace.names.size(), nullptr);
    for (std::uint32_t name = 0; name < kind_of.size(); ++name) kind_of[name] = kind(annotated.trace.names[trace::NameId{name}]);
    for (std::uint32_t node = 0; node < annotated.forest.size(); ++node) {
      const Kind* kind = kind_of[annotated.trace.events.name[annotated.forest.event[node]].index];
      if (kind == nullptr || !recording.in_step(node)) continue;
      const attribution::Owner& owner = annotated.owners.of[node];
      if (owner.call == attribution::kNothing || owner.direction != attribution::Direction::forward) continue;
      if (owner.stage == attribution::Stage::loss || owner.stage == attribution::Stage::evaluation) continue;
      const auto at = rules::place_of(recording, node);
      add(*kind, at ? std::optional(Place{at->file, at->line}) : std::nullopt);
    }
  }

  static const Kind* kind(std::string_view name) {
    constexpr std::array<std::string_view, 1> kReading{"aten::_local_scalar_dense"};
    constexpr std::array<std::string_view, 6> kChoosing{"aten::nonzero",    "aten::masked_select",      "aten::_unique2",
                                                        "aten::unique_dim", "aten::unique_consecutive", "aten::bincount"};
    if (std::ranges::find(kReading, name) != kReading.end()) return &kReads;
    return std::ranges::find(kChoosing, name) != kChoosing.end() ? &kShapes : nullptr;
  }

  // By name in the text that ran: it does nothing that a trace would show under a name of its own.
  void clipping() {
    for (std::uint32_t file = 0; file < profile_.files.size(); ++file) {
      if (!profile_.files[file].workspace) continue;
      const auto text = profile::executed_text(profile_, profile::FileId{file});
      if (!text) continue;
      std::int64_t line = 0;
      std::uint32_t counted = 0;
      bool imported = false;
      for (source::Token token = source::next_token(*text, 0); token.kind != source::TokenKind::end;
           token = source::next_token(*text, token.end)) {
        line += std::count(text->begin() + counted, text->begin() + token.begin, '\n');
        counted = token.begin;
        const std::string_view word = source::text_of(*text, token);
        if (token.kind == source::TokenKind::newline) imported = false;
        if (word == "import") imported = true;
        if (token.kind != source::TokenKind::word || imported) continue;
        if (word != "clip_grad_norm_" && word != "clip_grad_norm") continue;
        const source::Token next = source::next_token(*text, token.end);
        if (source::text_of(*text, next) == "(") add(kClip, Place{profile_.files[file].path.string(), line});
      }
    }
  }

  const profile::Loaded& loaded_;
  const profile::Profile& profile_;
  std::vector<Obstacle> found_;
};

}  // namespace

std::vector<Obstacle> obstacles(const profile::Loaded& loaded) {
  return Search(loaded).run();
}

}  // namespace hotlens::sweep
