#include "annotator/profile/build/module_name.h"

namespace hotlens::profile {

std::vector<ModuleName> names_of_modules(const Annotated& annotated) {
  std::vector<ModuleName> names;
  if (annotated.model) {
    for (const ModelModule& module : annotated.model->modules) names.push_back({module.path, module.class_name});
    return names;
  }
  std::vector<std::string> paths = attribution::paths_of(annotated.owners.found);
  const bool frames = annotated.how == How::frames;  // a range says nothing of the class
  for (const attribution::FoundModule& module : annotated.owners.found) {
    names.push_back({std::move(paths[names.size()]), frames ? std::string(class_of_instance(module.name)) : std::string()});
  }
  return names;
}

std::string_view last_name(std::string_view path, How how) {
  const std::size_t cut = path.rfind(how == How::recorded ? '.' : '/');
  return cut == std::string_view::npos ? path : path.substr(cut + 1);
}

std::string_view last_name(const Module& module) {
  return module.path.empty() ? std::string_view(module.class_name) : last_name(module.path, module.how);
}

std::string_view class_of_instance(std::string_view instance) {
  return instance.substr(0, instance.rfind('_'));
}

}  // namespace hotlens::profile
