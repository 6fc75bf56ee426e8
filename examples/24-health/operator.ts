import { defineResource, Operator } from 'kopf'
import { z } from 'zod'

const Upload = defineResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Upload',
  spec: z.object({ target: z.string() }),
})

const kopf = new Operator({ memo: () => ({ sync: { objects: new Set<string>(), failuresInARow: 0 } }) })

/** Stands for a call of a service outside the cluster. */
async function upload(target: string): Promise<void> {
  if (target === 'nowhere') throw new Error('There is no target "nowhere"')
}

kopf.on.create(Upload, { id: 'sync', backoff: '1s' }, async ({ name, spec, memo }) => {
  try {
    await upload(spec.target)
    memo.sync.objects.add(name)
    memo.sync.failuresInARow = 0
  } catch (error) {
    memo.sync.failuresInARow += 1
    throw error
  }
})

/** The liveness endpoint shows the result of each probe, by id. Results are cached for ten seconds. */
kopf.on.probe({ id: 'objects' }, ({ memo }) => memo.sync.objects.size)

/** If a probe throws an error, the liveness endpoint answers with 500, and Kubernetes restarts the pod. */
kopf.on.probe({ id: 'failuresInARow' }, ({ memo }) => {
  const { failuresInARow } = memo.sync
  if (failuresInARow >= 3) throw new Error(`${failuresInARow} uploads have failed in a row`)
  return failuresInARow
})

export default kopf
