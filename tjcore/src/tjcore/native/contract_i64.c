/* contract_i64.c: products of matrices of 64-bit integers, wrapping (hence unsigned). */
#include <math.h>
#include <string.h>
#include "contract.h"

#define T uint64_t
#define FMA(a, b, c) ((a) * (b) + (c))
#define ADD(a, b) ((a) + (b))
#include "contract_tiles.h"

void tj_contract_i64(const tj_team *team, const tj_contract *contract) { tiles(team, contract); }
