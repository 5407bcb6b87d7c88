// The step in words: for lenses as a whole; for the line of the loop that leads to it, its largest layers and what limits it.
#pragma once

#include <string>

#include "server/features/lines/line_summary.h"

namespace hotlens::features {

// Of a layer in one step, forward and backward.
Ns cost_of(const profile::Module& module, const profile::Profile& profile);

// `for batch in loader`: the line asks for the next step's batch, or counts the steps.
bool leads_to_steps(const LineSummary& summary, const profile::Profile& profile);

// "largest layers: layer1.0.conv2 1.08 ms · layer2.0.conv1 1.04 ms · fc 93.1 µs"; of layers that hold no other one. Empty without any.
std::string largest_layers(const profile::Profile& profile, bool markdown);

// "the step is compute-bound: compute 12.4 ms (layer1) · host loads data 2.10 ms (train.py:31)", the leading causes; empty where none
// leads.
std::string limit_of_step(const profile::Profile& profile, bool markdown);

// "ResNet 41.6 ms/step · launch-bound"; and beside it "769 samples/s · busy machine (others 40%)", empty where nothing is to be said.
std::string step_headline(const profile::Profile& profile);
std::string step_notes(const profile::Profile& profile);

// Both as one line.
std::string describe_step(const profile::Profile& profile);

}  // namespace hotlens::features
