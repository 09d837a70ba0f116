/* contract_f64.c: products of matrices of double. */
#define TJ_F64
#define TJ_CONTRACT tj_contract_f64
#include "contract_body.h"
