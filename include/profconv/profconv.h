/* SPDX-License-Identifier: MIT
 *
 * profconv/profconv.h - the umbrella over the public headers, but for plugin.h (authors of formats).
 */
#ifndef PROFCONV_H
#define PROFCONV_H

#include <profconv/base.h>
#include <profconv/builder.h>
#include <profconv/check.h>
#include <profconv/convert.h>
#include <profconv/io.h>
#include <profconv/profile.h>
#include <profconv/transform.h>

#endif
