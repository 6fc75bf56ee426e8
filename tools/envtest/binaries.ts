/**
 * Finds the four programs of the real control plane, or builds them (build.ts) into the user's cache folder.
 * Called by control-plane.ts. go.mod is the only place that names versions.
 */
import { access, constants, readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { buildBinaries, type OnProgress } from './build.ts'

export interface Binaries {
  readonly folder: string
  readonly etcd: string
  readonly kubeApiserver: string
  readonly kubectl: string
  /** Absent only if KUBEBUILDER_ASSETS names a folder without it. */
  readonly kubeControllerManager?: string
}

interface Versions {
  /** As in "v1.36.3". */
  readonly kubernetes: string
  /** As in "v3.6.8". */
  readonly etcd: string
}

const programs = ['kube-apiserver', 'kube-controller-manager', 'kubectl', 'etcd'] as const

/** The first call on a machine builds the programs, which takes minutes; later calls only check the folder. */
export async function ensureBinaries(options: { onProgress?: OnProgress } = {}): Promise<Binaries> {
  const onProgress = options.onProgress ?? (() => {})
  const assets = process.env['KUBEBUILDER_ASSETS']
  if (assets) return useAssets(assets, onProgress)

  const versions = await readVersions()
  const folder = cacheFolder(versions)
  const isComplete = async (): Promise<boolean> => (await missingFrom(folder)).length === 0
  if (!(await isComplete())) await buildBinaries({ folder, version: versions.kubernetes, onProgress, isComplete })
  return locate(folder)
}

async function readVersions(): Promise<Versions> {
  const goMod = await readFile(new URL('./go.mod', import.meta.url), 'utf8')
  const version = (module: string): string => {
    const line = goMod.split('\n').find((text) => text.trim().startsWith(`${module} v`))
    if (!line) throw new Error(`Cannot read the version of ${module}: tools/envtest/go.mod does not require it`)
    return line.trim().split(' ')[1] as string
  }
  return { kubernetes: version('k8s.io/kubernetes'), etcd: version('go.etcd.io/etcd/server/v3') }
}

function cacheFolder(versions: Versions): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  const name = `${versions.kubernetes}-etcd-${versions.etcd}-${process.platform}-${arch}`
  return join(cache, 'kopf', 'envtest', name)
}

async function useAssets(folder: string, onProgress: OnProgress): Promise<Binaries> {
  const missing = await missingFrom(folder)
  const needed = missing.filter((program) => program !== 'kube-controller-manager')
  if (needed.length > 0) {
    throw new Error(
      `Cannot use KUBEBUILDER_ASSETS "${folder}": ${needed.join(', ')} missing; ` +
        'point it at a folder with kube-apiserver, etcd and kubectl, or unset it to build them with Go',
    )
  }
  if (missing.length === 0) return locate(folder)
  onProgress(
    `KUBEBUILDER_ASSETS "${folder}" has no kube-controller-manager: no garbage collection, no end of deleted ` +
      'namespaces, no default service accounts (so no pods either)',
  )
  const { kubeControllerManager: _, ...others } = locate(folder)
  return others
}

function locate(folder: string): Binaries {
  return {
    folder,
    etcd: join(folder, 'etcd'),
    kubeApiserver: join(folder, 'kube-apiserver'),
    kubectl: join(folder, 'kubectl'),
    kubeControllerManager: join(folder, 'kube-controller-manager'),
  }
}

/** The programs that are not in the folder as executable files. */
async function missingFrom(folder: string): Promise<string[]> {
  const found = await Promise.all(
    programs.map((program) =>
      access(join(folder, program), constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  )
  return programs.filter((_, index) => !found[index])
}
