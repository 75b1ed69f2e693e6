/* SPDX-License-Identifier: MIT
 *
 * The numbers of GCC's AutoFDO file.
 */
#ifndef PFC_GCC_AFDO_GCC_H
#define PFC_GCC_AFDO_GCC_H

#define PFC_GCC_MAGIC 0x67636461u       /* "adcg" in the file */
#define PFC_GCC_VERSION_407 0x3430372au /* "*704" */
#define PFC_GCC_SUMMARY 0xa8000000u
#define PFC_GCC_NAMES 0xaa000000u
#define PFC_GCC_FUNCTIONS 0xac000000u
#define PFC_GCC_MODULES 0xae000000u
#define PFC_GCC_WORKING_SET 0xaf000000u
#define PFC_GCC_BUCKETS 128
#define PFC_GCC_INDIRECT_CALL 7 /* tag of a call target */
#define PFC_GCC_NO_FILE 0xffffffffu

#endif
