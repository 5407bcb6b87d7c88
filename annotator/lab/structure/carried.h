// Tensors that the script holds over from one step to the next: `out` has the keys and values of every layer until the next step's are
// there.
#pragma once

#include "annotator/lab/structure/draft.h"

namespace hotlens::lab {

// What the step leaves behind is what the next one lets go: as many of each shape come from the step before as the draft now leaves, where
// that was so in the recorded program. Calls come and go before this.
void carry_over(Draft& draft, const Program& recorded);

}  // namespace hotlens::lab
