/* SPDX-License-Identifier: MIT
 *
 * What reader and writer of Go's preprocessed profiles share.
 */
#ifndef PFC_GO_PREPROFILE_H
#define PFC_GO_PREPROFILE_H

#define GO_PREPROFILE_SCOPE "go-preprofile"
#define GO_PREPROFILE_HEADER "GO PREPROFILE V1"

extern const char *const pfc_go_preprofile_aliases[];
extern const char *const pfc_go_preprofile_suffixes[];

#endif
