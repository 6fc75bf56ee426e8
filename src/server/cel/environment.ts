/** The functions available to every expression in Kubernetes 1.36: the libraries of its base environment. */

import type { Environment } from './check.ts'
import { joinLibraries, type Overload } from './functions.ts'
import { addresses } from './library/addresses.ts'
import { authorizer } from './library/authorizer.ts'
import { conversions, typeNames } from './library/conversions.ts'
import { lists } from './library/lists.ts'
import { operators } from './library/operators.ts'
import { quantities } from './library/quantities.ts'
import { semver } from './library/semver.ts'
import { strings } from './library/strings.ts'
import { times } from './library/times.ts'
import { urls } from './library/urls.ts'
import type { CelType } from './types.ts'

const libraries = [operators, conversions, times, strings, ...lists, addresses, quantities, semver, urls, authorizer]

const functions: ReadonlyMap<string, readonly Overload[]> = joinLibraries(libraries)

export function environmentOf(variables: ReadonlyMap<string, CelType>): Environment {
  return { variables, types: typeNames, functions }
}
