// What a place in the text is for the constructors as they ran: whether it was followed, passed by, or makes what is compared anyway.
#pragma once

#include "annotator/lab/layers/effects/building.h"
#include "annotator/lab/layers/effects/names.h"
#include "annotator/lab/layers/match/alignment.h"

namespace hotlens::layers {

class Places {
 public:
  Places(const Followed& edited, const Building& building) : edited_(edited), building_(building) {}

  // Where the interpreter came to the statement.
  bool followed(Node node) const;
  // In a branch that every call of its function passed by.
  bool never_runs(Node node) const;
  // In a constructor of a layer, or in what constructors alone call: what it makes is compared.
  bool is_inside_maker(Node node) const;
  // In a package's function that ran for a module.
  bool is_in_package_maker(Node node) const;
  // `if width % heads != 0: raise …`, where it does not.
  bool only_raises(Node choice) const;
  // `if isinstance(act, str): self.act = ACTIVATIONS[act]` and its like, which was told apart: what it sets is compared.
  bool only_keeps(Node choice) const;
  // A loop of a layer's method, or a branch, that fills a list, now with nothing: `for _ in range(1, blocks): layers.append(block(width))`.
  bool fills_nothing(Node loop) const;
  // `Linear(…) if width > 8 else Identity()` in a constructor: what it chooses is compared.
  bool chooses_layers(Node choice, Node condition) const;
  // `self.add_module("norm%d" % i, norm)`, `setattr(self, name, layer)`: layers are compared by their names.
  bool names_layer(Node call, Node given) const;
  // `self.dropout(x)` of another class, where it is a layer: a number is not called, and layers are compared.
  bool calls_layer(Node use) const;
  // `self.depth` in a method of a package's layer: what its modules hold is compared, one by one.
  bool is_compared(Node use) const;
  bool is_in_class_of_module(Node use) const;
  // A plain value of each module whose class this is, or an unknown one: what it was and is now is compared, module by module, with what is
  // done with it.
  bool is_held_by_modules(Node use) const;
  // `for layer in self.layers[: self.config.depth]`: where it is as many as there are, alignment and comparison of the number say.
  bool bounds_list(Node use) const;
  // A number of the script's own as a size of what its loop makes: `torch.randn(8, noise, 1, 1)`.
  bool is_size_in_loop(Node use) const;

 private:
  const Followed& edited_;
  const Building& building_;
};

}  // namespace hotlens::layers
