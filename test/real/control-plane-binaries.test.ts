/** The sources of the programs of the real control plane, and the errors when they are not available. */
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ensureBinaries } from '../../tools/envtest/binaries.ts'

let folder: string
let progress: string[]
const ensure = (): ReturnType<typeof ensureBinaries> => ensureBinaries({ onProgress: (line) => progress.push(line) })
const putPrograms = (...names: string[]): Promise<unknown> =>
  Promise.all(names.map((name) => symlink(process.execPath, join(folder, name))))

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kopf-test-'))
  progress = []
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true })
})

describe('KUBEBUILDER_ASSETS', () => {
  beforeEach(() => vi.stubEnv('KUBEBUILDER_ASSETS', folder))

  test('ensureBinaries uses the programs in KUBEBUILDER_ASSETS', async () => {
    await putPrograms('etcd', 'kubectl', 'kube-apiserver', 'kube-controller-manager')
    expect(await ensure()).toEqual({
      folder,
      etcd: join(folder, 'etcd'),
      kubectl: join(folder, 'kubectl'),
      kubeApiserver: join(folder, 'kube-apiserver'),
      kubeControllerManager: join(folder, 'kube-controller-manager'),
    })
    expect(progress).toEqual([])
  })

  test('ensureBinaries works without a controller manager, and reports the consequences', async () => {
    await putPrograms('etcd', 'kubectl', 'kube-apiserver')
    expect(await ensure()).not.toHaveProperty('kubeControllerManager')
    expect(progress).toEqual([expect.stringMatching(/has no kube-controller-manager: no garbage collection/)])
  })

  test('ensureBinaries names the missing programs of KUBEBUILDER_ASSETS, and builds nothing', async () => {
    await putPrograms('kubectl')
    await expect(ensure()).rejects.toThrow(`Cannot use KUBEBUILDER_ASSETS "${folder}": kube-apiserver, etcd missing`)
    expect(await readdir(folder)).toEqual(['kubectl'])
  })
})

test('ensureBinaries asks for Go or KUBEBUILDER_ASSETS when neither is available', async () => {
  vi.stubEnv('KUBEBUILDER_ASSETS', '')
  vi.stubEnv('XDG_CACHE_HOME', folder)
  vi.stubEnv('PATH', folder)
  await expect(ensure()).rejects.toThrow(
    /^Cannot build the real control plane: "go" is not in PATH; install Go 1\.\d+ or newer .* or set KUBEBUILDER_ASSETS/,
  )
  expect(await readdir(folder)).toEqual([])
})
