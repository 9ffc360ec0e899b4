// What rows of a rank and of a packed job have in common.
#pragma once

#include <cstdint>
#include <string>

#include "doctor/fleet/table_writer.h"
#include "doctor/ranks/aligned_ranks.h"
#include "doctor/ranks/rank_facts.h"

namespace pel::fleet {

// The columns of one collective but the first, `call`. Times count from `base_ns`; `event` is its number in
// `events`.
void put_collective(TableWriter& out, const doctor::RankFacts& facts, const doctor::Collective& one,
                    std::int64_t event, std::int64_t base_ns);

// Reads the table of a rank into its facts; `Collective::event` is then the number in `events`. A FileError
// names the file.
void read_collectives(const std::string& path, std::int64_t base_ns, doctor::RankFacts& facts);

// The columns of clocks, the last ones of `meta`.
void put_clock(TableWriter& out, const doctor::ClockFit& clock);

}  // namespace pel::fleet
