// Changes that were asked for as edited programs, before anything is replayed.
#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <memory>

#include "annotator/lab/whatif/outcome.h"
#include "server/lab/what_ifs.h"

namespace hotlens::lab {

struct Candidate {
  WhatIf item;
  Program program;
  double error = 0;
  bool is_choice = false;        // of blocks to checkpoint
  bool together = false;         // of all or none
  bool replayed = true;          // false: only runs tell
  bool casts = false;            // results have another type: so have those that the script keeps from one step to the next
  bool depends = false;          // what is trained becomes something else
  std::int64_t times_batch = 1;  // more: what is told is that of another batch size, and `program` is not edited
};
using Tried = std::expected<Candidate, NotThis>;

// What a bundle knows of its step beside the program is read when it is first needed.
class Candidates {
 public:
  explicit Candidates(const std::filesystem::path& bundle);
  Candidates(const Candidates&) = delete;
  Candidates& operator=(const Candidates&) = delete;
  ~Candidates();

  // Of kinds that are made together in the recorded program.
  Tried edited(const Program& recorded, const Together& kinds);
  // Of kinds that only runs tell of.
  std::expected<WhatIf, NotThis> measured(const Together& kinds);

 private:
  struct Known;
  std::unique_ptr<Known> known_;
};

}  // namespace hotlens::lab
