// Layers that the recorded step does not have: their tensors, and their operators wherever they are called.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "annotator/lab/layers/changes.h"
#include "annotator/lab/structure/calls.h"

namespace hotlens::layers {

// What new modules and their tensors are called until all have their edited paths.
constexpr char kNew = '+';

class Insertion {
 public:
  Insertion(lab::Draft& draft, const Changes& changes) : draft_(draft), recorded_(draft), changes_(changes) {}

  // Parameters and buffers of the module and what is below it; once.
  std::optional<Unclear> add_tensors(const std::string& path);

  // One call of it, with this tensor. `like`: an operator that runs beside it; `number`: of the call.
  std::expected<lab::Called, Unclear> call(const std::string& path, lab::TensorId in, const lab::Operator& like, std::size_t number);
  // Of a layer that is like others of the recorded model: the call of another one that shows what it calls; nullopt: it is no such layer.
  std::optional<lab::Call> example(const std::string& path, std::size_t number) const;
  // The call that the example shows, on other tensors.
  std::vector<lab::Operator> copy(const std::string& path, const lab::Call& example, lab::Ids& ids);
  // Of a function that a module's forward calls.
  std::expected<lab::Called, Unclear> call(const Step& function, const std::string& holder, lab::TensorId in, const lab::Operator& like);

  // The step does with the new parameters what it does with those beside them.
  std::optional<Unclear> update();

  // What the program's modules and tensors of an edited module are called now.
  std::string present(const std::string& path) const;

 private:
  Unclear unclear(const std::string& path, std::string reason, std::string op = {}) const;
  std::optional<std::string> model_of(const std::string& path) const;
  bool is_sequence_of_layers(const std::string& path) const;
  std::optional<Unclear> forget(const std::string& path);
  std::optional<Unclear> add_layer(const std::string& path);
  std::optional<Unclear> add_copy(const std::string& path, const std::string& model);
  std::expected<lab::Called, Unclear> call_layer(const std::string& path, lab::TensorId in, const lab::Operator& like);
  bool is_copy(const std::string& path) const;
  std::expected<lab::Called, Unclear> call_copy(const std::string& path, lab::TensorId in, std::size_t number);
  std::expected<lab::Called, Unclear> call_again(const std::string& path, lab::TensorId in, std::size_t number);
  bool is_called(const std::string& path) const;
  std::optional<bool> is_trained(const std::string& path) const;
  std::size_t module(const std::string& name, const std::string& type);
  std::vector<lab::TensorId> in_order() const;
  std::vector<lab::TensorId> alike(lab::TensorId parameter, const std::vector<lab::TensorId>& order) const;

  lab::Draft& draft_;
  const lab::Draft recorded_;
  const Changes& changes_;
  std::map<std::string, std::vector<lab::TensorId>> tensors_;  // of layers of torch.nn, by edited path
  std::vector<lab::TensorId> parameters_;                      // that are new
  lab::Ids models_;                                            // of parameters that are copies
  std::set<std::string> added_;                                // paths whose tensors are there
};

}  // namespace hotlens::layers
