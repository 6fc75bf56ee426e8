/** Loads operators without starting them, and returns the CRDs of their resources. For `kopf crd` and `kopf crd migrate`. */
import { KopfError } from '../../../errors.ts'
import { toCrds } from '../../../kube/crds/crd.ts'
import type { KubeObject } from '../../../kube/objects.ts'
import type { CustomResource } from '../../../kube/resources/resources.ts'
import { loadOperator } from '../../loading/load.ts'

/** Throws if there are no CRDs. `verb` says what the command does with them. */
export async function loadCrds(
  files: readonly string[],
  modules: readonly string[],
  verb: 'print' | 'migrate',
): Promise<KubeObject[]> {
  await using loaded = await loadOperator({ files, modules, folder: process.cwd() })
  const { resources } = loaded.operator
  if (resources.length > 0) return toCrds(resources as readonly CustomResource<object>[])
  throw new KopfError(
    'KOPF_CRD',
    `Cannot ${verb} CRDs of ${[...files, ...modules].join(', ')}: no handler is for a resource that is created with defineResource; get the CRDs of other ` +
      'resources from their authors',
  )
}
