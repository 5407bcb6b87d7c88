#include "annotator/profile/build/module_name.h"

namespace hotlens::profile {

namespace {

// Of a module that is called from elsewhere than its place in the model: the caller's path, a slash and its own: "layers.1.attn/rotary".
std::string path_below(const std::string& caller, const ModelModule& module) {
  constexpr std::size_t kLongest = 1024;  // bytes
  const std::string& own = module.path.empty() ? module.class_name : module.path;
  return (caller.size() + own.size() < kLongest ? caller : std::string("\u2026")) + "/" + own;
}

std::vector<ModuleName> recorded_names(const Model& model, const std::vector<attribution::CalledModule>& called) {
  std::vector<ModuleName> names;
  for (std::size_t row = 0; row < called.size(); ++row) {
    const ModelModule& module = model.modules[called[row].module];
    std::string path = module.path;
    if (row >= model.modules.size()) {
      const attribution::CalledModule& caller = called[called[row].parent];
      const std::string& around = names[called[row].parent].path;
      path = module.parent == caller.module ? around + "." + std::string(last_name(path, How::recorded)) : path_below(around, module);
    }
    names.push_back({std::move(path), module.class_name});
  }
  return names;
}

}  // namespace

std::vector<ModuleName> names_of_modules(const Annotated& annotated) {
  if (annotated.model) return recorded_names(*annotated.model, annotated.called);
  std::vector<ModuleName> names;
  std::vector<std::string> paths = attribution::paths_of(annotated.owners.found);
  const bool frames = annotated.how == How::frames;  // a range says nothing of the class
  for (const attribution::FoundModule& module : annotated.owners.found) {
    names.push_back({std::move(paths[names.size()]), frames ? std::string(class_of_instance(module.name)) : std::string()});
  }
  return names;
}

std::string_view last_name(std::string_view path, How how) {
  const std::size_t cut = how == How::recorded ? path.find_last_of("./") : path.rfind('/');
  return cut == std::string_view::npos ? path : path.substr(cut + 1);
}

std::string_view last_name(const Module& module) {
  return module.path.empty() ? std::string_view(module.class_name) : last_name(module.path, module.how);
}

std::string_view class_of_instance(std::string_view instance) {
  return instance.substr(0, instance.rfind('_'));
}

}  // namespace hotlens::profile
