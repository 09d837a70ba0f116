/* contract_f32.c: products of matrices of float. */
#define TJ_F32
#define TJ_CONTRACT tj_contract_f32
#include "contract_body.h"
