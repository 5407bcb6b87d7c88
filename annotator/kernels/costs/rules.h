// The rules behind cost.h: what an operator was given in, its arithmetic and its bytes out; nothing where the recording does not tell.
#pragma once

#include <cstddef>
#include <optional>

#include "annotator/kernels/costs/arguments.h"

namespace hotlens::kernels {

struct Amount {
  double flops = 0;
  std::optional<double> bytes;  // absent where the type of an operand is not told
};
using RuleResult = std::optional<Amount>;

// Bytes of tensors, as long as every type is told.
class ByteSum {
 public:
  ByteSum& add(double elements, int element_bytes);
  ByteSum& add(const Arguments& arguments, std::size_t at);  // all tensors of an argument
  ByteSum& add_all(const Arguments& arguments);              // every tensor that the operator was given
  std::optional<double> sum() const { return known_ ? std::optional(sum_) : std::nullopt; }

 private:
  double sum_ = 0;
  bool known_ = true;
};

// products.cpp
RuleResult mm(const Arguments& given);                  // (n, k) (k, m), also in batches
RuleResult addmm(const Arguments& given);               // (bias) (n, k) (k, m), also in batches
RuleResult linear(const Arguments& given);              // (…, k) (m, k) [bias]
RuleResult vector_product(const Arguments& given);      // (n, k) (k), or (k) (k)
RuleResult add_vector_product(const Arguments& given);  // (y) (n, k) (k)

// convolutions.cpp
RuleResult convolution(const Arguments& given);
RuleResult convolution_backward(const Arguments& given);

// attention.cpp: queries, keys and values as (batch, heads, length, width). Of causal attention only what is not masked counts. Backward
// computes the scores again, as the fused kernels do: five products for the two of forward. `causal`: the position of `is_causal`.
RuleResult attention(const Arguments& given, std::size_t causal);
RuleResult attention_backward(const Arguments& given, std::size_t causal);

// recurrent.cpp: every weight matrix multiplies every time step of every sequence once; backward does twice as much.
RuleResult recurrent(const Arguments& given);
RuleResult recurrent_backward(const Arguments& given);

// moves.cpp
RuleResult elementwise(const Arguments& given);  // everything read; the result as large as its operands make it together
RuleResult comparison(const Arguments& given);   // everything read, a byte an element written
RuleResult in_place(const Arguments& given);     // everything read, the first written
RuleResult like_first(const Arguments& given);   // everything read, a result like the first
RuleResult like_second(const Arguments& given);
RuleResult reduction(const Arguments& given);      // everything read
RuleResult copy(const Arguments& given);           // the second read, the first written
RuleResult fill(const Arguments& given);           // the first written
RuleResult concatenation(const Arguments& given);  // everything read and written
RuleResult embedding(const Arguments& given);      // rows read by their numbers, and written
RuleResult embedding_backward(const Arguments& given);
RuleResult dropout(const Arguments& given);  // read, written, and a mask of a byte an element

}  // namespace hotlens::kernels
