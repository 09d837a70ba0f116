/* contract_i64.c: products of matrices of 64-bit integers, wrapping. */
#define TJ_I64
#define TJ_CONTRACT tj_contract_i64
#include "contract_body.h"
