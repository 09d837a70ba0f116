/* contract_f64.c: products of matrices of double. */
#include <math.h>
#include <string.h>
#include "contract.h"

#define T double
#define FMA(a, b, c) fma(a, b, c)
#define ADD(a, b) ((a) + (b))
#include "contract_tiles.h"

void tj_contract_f64(const tj_team *team, const tj_contract *contract) { tiles(team, contract); }
