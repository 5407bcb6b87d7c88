#include "server/features/timeline/recording.h"

#include <algorithm>

#include "tests/unit/catch.h"
#include "tests/unit/profile/random_trace.h"

using namespace hotlens;
using namespace hotlens::features;
using namespace hotlens::profile;

TEST_CASE("random recordings: steps and the time between them fill the axis, a device is busy as long as its work is") {
  const auto seed = static_cast<unsigned>(GENERATE(range(1, 40)));
  CAPTURE(seed);
  RandomTrace random(seed);
  const auto annotated = annotated_of(random.draw());
  const Recording recording = recording_of(*annotated);
  Ns reached{};
  for (const Stretch& each : recording.tracks.front().stretches) {
    CHECK(each.start == reached);
    reached = each.end;
  }
  CHECK(reached == recording.length);
  std::vector<attribution::Interval> busy = attribution::busy_intervals(annotated->account.work);
  Ns union_of_work{}, drawn{};
  for (const attribution::Interval& each : busy) union_of_work += each.end - each.start;
  for (const RecordingTrack& track : recording.tracks) {
    CHECK(std::ranges::is_sorted(track.stretches, {}, &Stretch::start));
    for (std::size_t at = 1; at < track.stretches.size(); ++at) CHECK(track.stretches[at - 1].end <= track.stretches[at].start);
    if (track.kind != RecordingTrack::Kind::device) continue;
    for (const Stretch& each : track.stretches) drawn += each.end - each.start;
  }
  CHECK(drawn == union_of_work);
}

TEST_CASE("random views of a recording show every stretch, at most a pixel further, and few rectangles") {
  const auto seed = static_cast<unsigned>(GENERATE(range(1, 40)));
  CAPTURE(seed);
  RandomTrace random(seed);
  const Recording recording = recording_of(*annotated_of(random.draw()));
  const Ns from(random.between(-100, recording.length.count() - 2)), to(random.between(from.count() + 1, recording.length.count() + 100));
  const auto width = static_cast<std::uint32_t>(random.between(1, 300));
  const RecordingView view = look(recording, from, to, width);
  CHECK(view.from >= Ns{});
  CHECK(view.to <= recording.length);
  const Ns pixel = std::max(Ns(1), (view.to - view.from) / width);
  REQUIRE(view.tracks.size() == recording.tracks.size());
  for (const RecordingView::Track& track : view.tracks) {
    CHECK(track.rectangles.size() <= std::size_t{2} * width + 4);
    Ns busy{};
    for (const Stretch& each : recording.tracks[track.track].stretches) {
      const Portion::Kind kind = recording.parts[each.part].kind;
      if (kind == Portion::Kind::before || kind == Portion::Kind::between || kind == Portion::Kind::after) continue;
      if (each.end <= view.from || each.start >= view.to) continue;
      busy += std::min(each.end, view.to) - std::max(each.start, view.from);
      CHECK(std::ranges::any_of(track.rectangles, [&](const Rectangle& drawn) {
        return drawn.start <= each.start && drawn.start + drawn.duration >= each.end - pixel &&
               (drawn.count == 1 || drawn.duration < pixel);
      }));
    }
    CHECK(track.busy == busy);
  }
}
