/**
 * Builds the real control plane from the modules that go.mod pins: some minutes, once per version and machine.
 * Called by binaries.ts if the cache is empty. The programs are built in a temporary folder next to the cache folder, which is
 * renamed when all four are complete, so that the cache never contains a partial build.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startWatchdog, toLaunch } from './watchdog.ts'

/** Receives one line of text without a line break. */
export type OnProgress = (line: string) => void

export interface BuildOptions {
  /** The target folder of the four programs. */
  readonly folder: string
  /** The Kubernetes version that the programs report, for example "v1.36.3". */
  readonly version: string
  readonly onProgress: OnProgress
  /** Whether the folder has all programs. Called if another process may have finished first. */
  readonly isComplete: () => Promise<boolean>
}

const sources: Readonly<Record<string, string>> = {
  etcd: 'go.etcd.io/etcd/server/v3',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
}

const moduleFolder = fileURLToPath(new URL('.', import.meta.url))
const progressEveryMs = 10_000

export async function buildBinaries(options: BuildOptions): Promise<void> {
  await checkGo()
  await mkdir(dirname(options.folder), { recursive: true })
  const buildFolder = await mkdtemp(`${options.folder}.building-`)
  const watchdog = startWatchdog(buildFolder)
  try {
    options.onProgress(`Building the real control plane ${options.version} (once, some minutes) into ${options.folder}`)
    for (const program of Object.keys(sources)) await buildOne(program, buildFolder, options)
    await moveToCache(buildFolder, options)
  } finally {
    await rm(buildFolder, { recursive: true, force: true })
    await watchdog.dismiss()
  }
}

/** Two builds at the same time are wasteful but safe: the first complete folder stays. */
async function moveToCache(buildFolder: string, { folder, isComplete }: BuildOptions): Promise<void> {
  try {
    await rename(buildFolder, folder)
  } catch (error) {
    if (await isComplete()) return
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    await rm(folder, { recursive: true, force: true })
    await rename(buildFolder, folder)
  }
}

async function checkGo(): Promise<void> {
  const needed = /^go (\d+\.\d+)/m.exec(await readFile(join(moduleFolder, 'go.mod'), 'utf8'))?.[1]
  try {
    // In the folder of the module, an older Go downloads the toolchain that go.mod requires, or prints why it cannot.
    await promisify(execFile)('go', ['version'], { cwd: moduleFolder })
  } catch (error) {
    const { code, stderr } = error as { code?: string; stderr?: string }
    const state = code === 'ENOENT' ? '"go" is not in PATH' : (stderr ?? String(error)).trim()
    throw new Error(
      `Cannot build the real control plane: ${state}; install Go ${needed} or newer (https://go.dev/dl), ` +
        'or set KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd, kubectl and kube-controller-manager',
      { cause: error },
    )
  }
}

async function buildOne(program: string, buildFolder: string, { version, onProgress }: BuildOptions): Promise<void> {
  const began = Date.now()
  let packages = 0
  const report = (): void => {
    const seconds = Math.round((Date.now() - began) / 1000)
    onProgress(`  ${program}: ${packages} packages compiled, ${seconds} s`)
  }
  const timer = setInterval(report, progressEveryMs)
  try {
    const args = ['build', ...goFlags(version), '-o', join(buildFolder, program), sources[program] as string]
    await runGo(args, { buildFolder, onPackage: () => (packages += 1) })
  } finally {
    clearInterval(timer)
  }
  report()
}

function goFlags(version: string): string[] {
  const [major, minor] = version.replace(/^v/, '').split('.')
  const stamp = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' }
  const stamps = Object.entries(stamp).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
  return ['-v', '-trimpath', '-ldflags', ['-s', '-w', ...stamps].join(' ')]
}

/** With -v, Go prints one line for each package that it compiles; all other lines are errors. */
async function runGo(args: readonly string[], options: { buildFolder: string; onPackage: () => void }): Promise<void> {
  const pidFile = join(options.buildFolder, 'go.pid')
  const go = spawn(...toLaunch(pidFile, 'go', args), {
    cwd: moduleFolder,
    // Temporary files of Go are in the build folder, which the watchdog removes even if this process is killed.
    env: { ...process.env, CGO_ENABLED: '0', GOTMPDIR: options.buildFolder },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  const errors: string[] = []
  createInterface(go.stderr).on('line', (line) => {
    if (/^[\w.~/-]+$/.test(line)) options.onPackage()
    else errors.push(line)
  })
  const status = await new Promise<number | null>((resolve, reject) => go.on('error', reject).on('close', resolve))
  await rm(pidFile, { force: true })
  if (status !== 0)
    throw new Error(`Cannot build ${args.at(-1)}: go exited with ${status}\n${errors.slice(-20).join('\n')}`)
}
