// The tables of one rank.
#pragma once

#include <cstdint>
#include <string>

#include "doctor/analyses/analysis.h"
#include "doctor/ranks/rank_facts.h"

namespace pel::fleet {

// Where the trace begins. Its tables count from here.
std::int64_t first_ns(const doctor::Examined& examined);
// The same since 1970, where the trace says when that was. Facts of ranks count from there.
std::int64_t base_ns(const doctor::Examined& examined);

// Writes all of them but `meta` into a folder that exists.
void write_rank_tables(const std::string& folder, const doctor::Examined& examined,
                       const doctor::RankFacts& facts);

}  // namespace pel::fleet
