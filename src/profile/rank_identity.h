// Which of several processes this one is, for traces: tools that compare ranks ask for it.
#pragma once

namespace pel::profile {

struct RankIdentity {
  int rank = 0;
  int world = 0;  // ranks of the job; 0: this process is not one of several
};
void set_rank_identity(RankIdentity identity);
RankIdentity rank_identity();

}  // namespace pel::profile
