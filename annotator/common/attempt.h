// What a piece of work throws, as an Error: the one place where exceptions become values.
//
// Errors are values everywhere else; what is thrown is memory that is not there, the standard library's word about files, or a bug. Work
// that a program does for somebody (a verb, a task of a pool, a turn of the strand) runs in attempt(), so that it costs one answer and
// never the process.
#pragma once

#include <type_traits>
#include <utility>

#include "annotator/common/error.h"

namespace hotlens {

// The exception that is being handled, as a sentence. Only inside a catch block.
Error thrown();

// What `work` gives; a Result as it is.
template <class T>
struct Attempted {
  using type = Result<T>;
};
template <class T>
struct Attempted<Result<T>> {
  using type = Result<T>;
};

template <class Work>
auto attempt(Work&& work) -> typename Attempted<std::invoke_result_t<Work&>>::type {
  using Given = std::invoke_result_t<Work&>;
  try {
    if constexpr (std::is_void_v<Given>) {
      work();
      return {};
    } else {
      return work();
    }
  } catch (...) {
    return std::unexpected(thrown());
  }
}

}  // namespace hotlens
