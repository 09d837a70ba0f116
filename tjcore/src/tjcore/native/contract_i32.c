/* contract_i32.c: products of matrices of 32-bit integers, wrapping. */
#define TJ_I32
#define TJ_CONTRACT tj_contract_i32
#include "contract_body.h"
