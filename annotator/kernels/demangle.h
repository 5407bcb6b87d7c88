// Mangled C++ names (Itanium ABI) in readable form, safe on hostile input.
#pragma once

#include <string>
#include <string_view>

namespace hotlens::kernels {

// The readable form; of a name too long or too tangled for the demangler its identifiers, joined by "::"; the name itself where it is not
// mangled or not valid. At most some megabytes for the worst name.
std::string demangled(std::string_view name);

// The identifiers in a mangled name, in order, joined by "::". Linear.
std::string mangled_words(std::string_view name);

}  // namespace hotlens::kernels
