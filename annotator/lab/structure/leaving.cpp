#include "annotator/lab/structure/leaving.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "annotator/lab/structure/insertion.h"
#include "annotator/lab/structure/parameters.h"

namespace hotlens::layers {
namespace {

using lab::Tensor;
using lab::TensorId;
using lab::TensorKind;

// Parameters and buffers of the layer and what it holds.
std::vector<TensorId> tensors_of(const lab::Draft& draft, const std::string& path) {
  std::vector<TensorId> found;
  for (std::size_t at = 0; at < draft.program.tensors.size(); ++at) {
    const Tensor& tensor = draft.program.tensors[at];
    const auto id = static_cast<TensorId>(at);
    const bool own = tensor.kind == TensorKind::buffer || tensor.kind == TensorKind::parameter;
    if (own && lab::is_within(lab::split_name(tensor.name).first, path) && draft.listed(id) != nullptr) found.push_back(id);
  }
  return found;
}

// By recorded path.
using Paths = std::map<std::string, std::string>;

std::string edited_path(const Paths& now, const std::string& path) {
  if (path.starts_with(kNew)) return path.substr(1);
  for (std::string above = path;;) {
    const auto found = now.find(above);
    if (found != now.end() && !(above.empty() && !path.empty() && found->second.empty())) {
      const std::string rest = above.empty() ? "." + path : path.substr(above.size());
      return found->second.empty() ? rest.substr(rest.empty() ? 0 : 1) : found->second + rest;
    }
    if (above.empty()) return path;
    above = lab::split_name(above).first;
  }
}

void take_edited_path(Tensor& tensor, const Paths& now) {
  const std::string owner(lab::owner_of(tensor.name));
  if (owner.empty()) return;
  const auto [path, leaf] = lab::split_name(owner);
  const std::string is = edited_path(now, path);
  tensor.name = tensor.name.substr(0, tensor.name.size() - owner.size()) + (is.empty() ? leaf : is + "." + leaf);
}

}  // namespace

std::optional<std::string> remove_tensors(lab::Draft& draft, const std::string& path) {
  for (const TensorId id : tensors_of(draft, path)) {
    if (draft.listed(id)->kind == TensorKind::buffer) {
      draft.gone.insert(id);
    } else if (auto why = lab::remove_parameter(draft, id)) {
      return why;
    }
  }
  return std::nullopt;
}

std::optional<std::string> leave_uncalled(lab::Draft& draft, const std::string& path) {
  for (const TensorId id : tensors_of(draft, path)) {
    if (draft.listed(id)->kind != TensorKind::parameter) continue;
    if (auto why = lab::leave_without_gradient(draft, id)) return why;
  }
  return std::nullopt;
}

void take_edited_paths(lab::Draft& draft, const Alignment& alignment) {
  Paths now;
  for (const auto& [path, was] : alignment.kept) now[was] = path;
  for (std::string& path : draft.program.modules) path = edited_path(now, path);
  for (Tensor& tensor : draft.program.tensors) take_edited_path(tensor, now);
  for (auto& [id, tensor] : draft.added) take_edited_path(tensor, now);
}

}  // namespace hotlens::layers
