/** Random changes while controllers work: in the end the state is right, and no object is left over. */
import { resource } from 'kopf'
import { startCluster } from 'kopf/testing'
import { expect, test } from 'vitest'
import { deployment, job, type Loose, podsOf, template } from './workload-manifests.ts'

const deployments = resource('apps/v1', 'deployments')
const jobs = resource('batch/v1', 'jobs')

/** Pseudo-random numbers, the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state % below
  }
}

test.each([1, 2, 3])('controllers reach the right state after random changes (seed %i)', async (seed) => {
  const draw = numbers(seed)
  await using cluster = await startCluster({ controllers: 'all' })
  const named = (index: number): Loose => {
    const labels = { app: `web-${index}` }
    return {
      ...deployment({
        replicas: draw(4),
        selector: { matchLabels: labels },
        template: template({ app: `web-${index}` }),
      }),
      name: `web-${index}`,
    }
  }
  for (let step = 0; step < 60; step += 1) {
    const index = draw(4)
    const name = `web-${index}`
    const gone = () => {}
    const deeds = [
      () => cluster.create(deployments, named(index)),
      () => cluster.patch(deployments, name, { spec: { replicas: draw(4) } }),
      () =>
        cluster.patch(deployments, name, { spec: { template: template({ app: name, image: `nginx:${draw(3)}` }) } }),
      () => cluster.delete(deployments, name),
      () => cluster.create(jobs, { ...job({ completions: 1 + draw(3) }), name: `job-${index}` }),
      () => cluster.delete(jobs, `job-${index}`, { propagationPolicy: 'Background' }),
      () => cluster.clock.advance(draw(3)),
    ]
    // Most changes are not awaited, so that they meet controllers at work.
    const deed = deeds[draw(deeds.length)]!().catch(gone)
    if (draw(3) === 0) await deed
  }
  await cluster.settled()
  await cluster.clock.advance('1m')
  const left = await cluster.list(deployments)
  for (const { metadata, spec, status } of left) {
    expect(status).toMatchObject({ observedGeneration: metadata.generation })
    expect([status.replicas ?? 0, status.availableReplicas ?? 0]).toEqual([spec.replicas, spec.replicas])
    expect(await podsOf(cluster, `app=${metadata.name}`)).toHaveLength(spec.replicas)
  }
  for (const { spec, status } of await cluster.list(jobs)) expect(status.succeeded).toBe(spec.completions)
  const sets = await cluster.list(['apps/v1', 'replicasets'])
  const owners = new Set(left.map(({ metadata }) => metadata.uid))
  for (const { metadata } of sets) expect(owners.has(metadata.ownerReferences![0]!.uid)).toBe(true)
})
