/* contract_f32.c: products of matrices of float. */
#include <math.h>
#include <string.h>
#include "contract.h"

#define T float
#define FMA(a, b, c) fmaf(a, b, c)
#define ADD(a, b) ((a) + (b))
#include "contract_tiles.h"

void tj_contract_f32(const tj_team *team, const tj_contract *contract) { tiles(team, contract); }
