/** The entries of `kopf/kubernetes` and `kopf/kubernetes/<group>/<version>`. Used for the JavaScript files and for their types. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const folder = 'kube/builtins'

/** Paths in `src` without the extension: `kube/builtins/apps/v1.generated`. The table of names has types only and is no entry. */
export const builtinEntries: readonly string[] = readdirSync(join('src', folder), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.generated.ts') && !path.startsWith('builtin-names'))
  .map((path) => `${folder}/${path.slice(0, -'.ts'.length)}`)
  .sort()
