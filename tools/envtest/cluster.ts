/**
 * `npm run cluster`: runs a real Kubernetes control plane until Ctrl-C. With `-- --build`, only builds its programs, and those that tests on
 * it start: Helm and promtool. The only file of this folder that prints.
 */
import { ensureHelm } from '../helm/helm.ts'
import { ensurePromtool } from '../promtool/promtool.ts'
import { callApi } from './api.ts'
import { ensureBinaries } from './binaries.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'

if (process.argv.includes('--build')) {
  const { folder } = await ensureBinaries({ onProgress: (line) => console.log(line) })
  console.log(`The programs of the control plane are in ${folder}`)
  for (const path of [await ensureHelm(), await ensurePromtool()]) console.log(path)
  process.exit(0)
}

const began = Date.now()
let plane: ControlPlane | undefined
let isStopping = false

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(signal))

console.log('Starting a real control plane ...')
try {
  plane = await startControlPlane({ onProgress: (line) => console.log(line) })
  console.log(await describe(plane))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}

/** The first signal stops the programs in order, the second exits at once. Before the control plane runs, the first one exits too. */
async function stop(signal: NodeJS.Signals): Promise<void> {
  if (isStopping || !plane) process.exit(signal === 'SIGINT' ? 130 : 143)
  isStopping = true
  console.log('\nStopping (again to stop at once) ...')
  await plane.stop()
  process.exit(0)
}

async function describe({ url, caPem, admin, kubeconfigs, binaries, folder }: ControlPlane): Promise<string> {
  const { body } = await callApi({ url, caPem, user: admin }, { path: '/version' })
  const seconds = ((Date.now() - began) / 1000).toFixed(1)
  return `
Kubernetes ${(body as { gitVersion: string }).gitVersion} is ready at ${url} (${seconds} s)

  export KUBECONFIG=${kubeconfigs.admin}
  ${binaries.kubectl} get namespaces

Other users:
  ${kubeconfigs.operator}  (everything on all resources, by RBAC)
  ${kubeconfigs.nobody}  (nothing)

There are no nodes: pods are stored and never run. Logs are in ${folder},
which is removed when the control plane stops. Ctrl-C stops it.`
}
