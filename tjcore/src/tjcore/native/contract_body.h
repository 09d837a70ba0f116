/* contract_body.h: everything for one element type; the including file says which and names the entry TJ_CONTRACT. */
#include "contract.h"
#include "contract_lanes.h"
#include "contract_tile.h"
#include "contract_copy.h"
#include "contract_blocks.h"
#include "contract_vector.h"

static int choose(const tj_contract *t) {
  if ((t->path == TJ_CONTRACT_AUTO || t->path == TJ_CONTRACT_VECTOR) && vector_can(t)) return TJ_CONTRACT_VECTOR;
  if (!t->scratch || t->path == TJ_CONTRACT_TILES) return TJ_CONTRACT_TILES;
  if (t->path == TJ_CONTRACT_PACKED) return TJ_CONTRACT_PACKED;
  if (TJ_CONTRACT_IS_SMALL(t->m, t->n, t->k)) return TJ_CONTRACT_TILES;
  return t->m <= TILES_ROWS && t->b_col == 1 && !t->pack_b ? TJ_CONTRACT_TILES : TJ_CONTRACT_PACKED;
}

void TJ_CONTRACT(const tj_team *team, const tj_contract *contract) {
  if (contract->m <= 0 || contract->n <= 0 || contract->batch <= 0) return;
  switch (choose(contract)) {
    case TJ_CONTRACT_VECTOR: vector(team, contract); break;
    case TJ_CONTRACT_TILES: tiles(team, contract); break;
    default: packed(team, contract);
  }
}
