// Follows a script's top level and the constructors it calls with real numbers, without running any of it.
//
// Known are integers, reals, texts, lists, classes and functions of the files, the project's and packages', arguments of `argparse`,
// dataclasses. Everything else is unknown and stays it; a branch on an unknown condition is not followed, and what it would have set is
// unknown. Steps and depth are bounded. Nothing is read but the files that are handed over.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "annotator/lab/layers/python/value.h"

namespace hotlens::layers {

// The files of the project as executed or as edited, by absolute path.
struct Sources {
  std::map<std::filesystem::path, std::shared_ptr<const source::Code>> files;
  std::filesystem::path script;
  std::string model;                                             // the class of the recorded model
  std::vector<std::string> argv;                                 // without the script
  std::set<std::filesystem::path> packages;                      // files of installed packages
  std::map<std::filesystem::path, std::set<std::uint32_t>> ran;  // 0-based lines from which the recorded step ran operators
};

// Files of the project that are another text in `other`.
std::vector<const source::Code*> edited_files(const Sources& sources, const Sources& other);

// Whether a text is nested so deeply that nothing should be followed in it.
bool is_too_deep(const source::Code& code);

// What the script does besides making layers, in words: a loop that was not followed, a call outside of constructors.
struct Fact {
  std::string words;
  Node at;
};

class Interpreter {
 public:
  // `known`: values of unknowns, by their words.
  Interpreter(const Sources& sources, Heap& heap, std::map<std::string, Ref> known = {});

  void run();
  // Modules of torch.nn and of classes derived from it, in the order in which they were made.
  const std::vector<Ref>& modules() const { return modules_; }
  // Where these are others, so is the step.
  const std::vector<Fact>& facts() const { return facts_; }
  // Where the text was seen to end with an exception: a failing assertion, `raise`, an index that no list has. In words that follow the
  // text.
  const std::vector<Fact>& failures() const { return failures_; }
  // What each file's top level binds, by its path.
  std::map<std::filesystem::path, const Scope*> globals() const;
  bool ran(const void* function) const { return ran_.contains(function); }
  // Whether a function ran for a module that was made: as a constructor, below one, or below a function that gave one.
  bool makes(const void* function) const { return makers_.contains(function); }
  bool visited(const void* statement) const { return visited_.contains(statement); }
  // Whether a branch or a loop's body was known not to run, in one call of its function at least.
  bool passed(const void* block) const { return passed_.contains(block); }
  // A statement whose branches were not told apart.
  bool forgotten(const void* statement) const { return forgotten_.contains(statement); }
  // Whether this call, of a class or of a function of the project, gave a module.
  bool built(const void* call) const { return built_.contains(call); }
  // Modules that others were copied of, or that the constructor of another one makes: where no model holds them, no step has them.
  bool is_spare(const Ref& module) const { return copied_.contains(module) || inner_.contains(module); }
  // The class and all that it derives from, as Python looks names up.
  std::vector<Ref> order(const Ref& type) const;
  // The class of torch.nn that a class derives from; empty: none.
  std::string layer_of(const Ref& type) const;

 private:
  enum class Flow : std::uint8_t { on, broken, continued, returned };
  struct Frame {
    Scope *scope = nullptr, *globals = nullptr;
    Ref self = nullptr, owner = nullptr, result = nullptr;
    const source::Code* code = nullptr;
  };

  // Statements.
  Flow block(Node node, Frame& frame);
  Flow statement(Node node, Frame& frame);
  Flow branch(Node node, Frame& frame);
  Flow loop(Node node, Frame& frame);
  Flow repeat(Node node, Frame& frame);
  Flow attempt(Node node, Frame& frame);
  void assignment(Node node, Frame& frame);
  void augmented(Node node, Frame& frame);
  void assign(Node target, const Ref& value, Frame& frame, Node whole);
  void forget(Node node, Frame& frame);
  Ref asked(const std::string& chain, Frame& frame);
  void define(Node node, Frame& frame, bool dataclass);
  void import(Node node, Frame& frame);
  void import_from(Node node, Frame& frame);
  Scope* file(const std::string& dotted, const source::Code* from);
  Scope* run_file(const source::Code& code, const std::string& name);
  Ref only_defined(const std::string& name, Value::Kind kind);
  Ref defined(const std::string& dotted, const source::Code* from = nullptr);

  // Expressions.
  Ref expression(Node node, Frame& frame);
  Ref name(std::string_view name, Frame& frame);
  Ref binary(std::string_view op, const Ref& left, const Ref& right);
  Ref comparison(Node node, Frame& frame);
  Ref boolean(Node node, Frame& frame);
  Ref subscript(Node node, Frame& frame);
  Ref item_of(const Ref& object, const Ref& key);
  Ref comprehension(Node node, Frame& frame);
  bool passes(const std::vector<Node>& clauses, std::size_t at, Frame& frame, const std::function<void()>& each);
  Ref text(Node node, Frame& frame);
  Ref attribute(const Ref& object, const std::string& name);
  Ref own_attribute(const Ref& object, const std::string& name);
  Ref held(const Ref& object, const std::string& name);
  Ref class_attribute(const Ref& type, const std::string& name, const Ref& after = nullptr);
  Ref bound(const Ref& found, const Ref& self);
  Arguments arguments(Node list, Frame& frame);
  std::optional<std::vector<Ref>> entries(const Ref& iterable);
  std::optional<bool> truth(const Ref& value);

  // Calls.
  Ref call_expression(Node node, Frame& frame);
  Ref call(const Ref& callee, Arguments given, Node site);
  Ref call_function(const Ref& function, const Arguments& given);
  Ref from_config(const Arguments& given, Node site);
  Ref of_name(const Ref& callee, const Arguments& given, Node site);
  Ref call_partial(const Arguments& held, Arguments given, Node site);
  Ref instantiate(const Ref& type, const Arguments& given, Node site);
  Ref make_external(const Ref& callee, Arguments given, Node site);
  Ref builtin(const std::string& name, const Arguments& given, Node site);
  Ref spaced(const std::vector<Ref>& with);
  Ref numbers_in(const Arguments& given);
  Ref of_list(const Ref& self, const std::string& name, const std::vector<Ref>& with);
  void insert_layer(const Ref& container, std::int64_t at, const Ref& layer, Node site);
  Ref of_objects(const std::string& name, const std::vector<Ref>& with, Node site);
  Ref method(const Ref& self, const std::string& name, const Arguments& given, Node site);
  Ref mapping_of(const Ref& from, const std::vector<std::pair<std::string, Ref>>& named);
  Ref children_of(const Ref& module, bool with_names);
  void put(const Ref& mapping, const Ref& key, const Ref& value);
  Ref of_text(const Ref& self, const std::string& name, const std::vector<Ref>& with);
  Ref of_mapping(const Ref& self, const std::string& name, const Arguments& given);
  Ref parse_arguments(const Ref& parser);
  std::vector<std::string> fields_of(const Ref& type) const;
  bool has_fields(const Ref& type, const Arguments& given) const;
  Ref dataclass_after(const Ref& type, const Ref& owner) const;
  void fields(const Ref& object, const Ref& type, const Arguments& given, Node site);
  bool is_whole(const Ref& type) const;
  std::string read_by(const Ref& function, const Ref& self, std::set<const void*>& seen);
  void give(const Ref& object, const std::string& name, const Ref& value, Node whole);
  void give_own(const Ref& object, const std::string& name, const Ref& value, Node whole);
  void set(const Ref& object, const std::string& name, const Ref& value, Node whole);
  void fill(const Ref& container, const Arguments& given, Node site);
  void add_module(const Ref& made) {
    modules_.push_back(made);
    if (constructing_ > 0) inner_.insert(made);
  }
  Ref part(const std::string& name, Arguments given, Node site);
  void add_parts(const Ref& object);
  Ref deep_copy(const Ref& module, int depth = 0);
  Ref of_shape(const std::vector<std::int64_t>& shape, Node site);
  Ref combined(const Ref& left, const Ref& right);
  Ref joined(bool stacks, const Arguments& given, Node site);
  Ref of_tensors(const std::string& name, const Arguments& given, Node site);
  Ref part_of_tensor(const Ref& tensor, Node subscript, Frame& frame);
  std::optional<std::pair<std::int64_t, std::int64_t>> bounds_of(Node slice, std::int64_t size, Frame& frame);
  Ref reshaped(const Ref& tensor, const std::string& name, const Arguments& given);

  // Values.
  Ref make(Value value) { return heap_.value(std::move(value)); }
  Ref none() { return make({.kind = Value::Kind::none}); }
  Ref boolean_value(bool value) { return make({.kind = Value::Kind::boolean, .integer = value ? 1 : 0}); }
  Ref whole(std::int64_t value) { return make({.kind = Value::Kind::integer, .integer = value}); }
  Ref real(double value) { return make({.kind = Value::Kind::real, .real = value}); }
  Ref text_of(std::string value) { return make({.kind = Value::Kind::text, .text = std::move(value)}); }
  Ref list_of(std::vector<Ref> items) { return make({.kind = Value::Kind::list, .items = std::move(items)}); }
  Ref unknown(std::string words);
  // Whether so many steps, or entries of lists and letters of texts, are left.
  bool spend(std::size_t steps = 1);
  void note(const std::string& callee, const Arguments& given, Node site);

  const Sources& sources_;
  Heap& heap_;
  std::map<std::string, Ref> known_;
  std::map<const source::Code*, Scope*> files_;
  std::map<std::string, const source::Code*> definers_;  // by dotted name; null: none, or several
  std::vector<Ref> modules_;
  std::vector<Fact> facts_, failures_;
  std::set<const void*> ran_;      // functions that were followed
  std::set<const void*> visited_;  // statements that were
  std::set<const void*> passed_, forgotten_;
  std::set<const void*> built_;  // calls that gave modules
  std::set<const void*> makers_;
  std::vector<const void*> followed_;  // functions in the order of their calls
  std::set<const Value*> copied_, inner_;
  int constructing_ = 0;  // constructors of modules that are being followed
  int making_ = 0;        // functions of a library that make a model by its name
  std::int64_t steps_ = 0;
  int depth_ = 0, nesting_ = 0;  // of calls; of expressions, those of calls included
};

}  // namespace hotlens::layers
