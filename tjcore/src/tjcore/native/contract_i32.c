/* contract_i32.c: products of matrices of 32-bit integers, wrapping (hence unsigned). */
#include <math.h>
#include <string.h>
#include "contract.h"

#define T uint32_t
#define FMA(a, b, c) ((a) * (b) + (c))
#define ADD(a, b) ((a) + (b))
#include "contract_tiles.h"

void tj_contract_i32(const tj_team *team, const tj_contract *contract) { tiles(team, contract); }
