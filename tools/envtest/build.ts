/**
 * Builds the real control plane from the modules that go.mod pins: some minutes, once per version and machine.
 * Called by binaries.ts when the cache has none. Nothing half-built is ever seen in the cache: the programs are linked
 * in a folder of this process beside it, which takes the cache's name when all four are there.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startWatchdog, toLaunch } from './watchdog.ts'

/** One line for a person, without a line break. */
export type OnProgress = (line: string) => void

export interface BuildOptions {
  /** Where the four programs shall be in the end. */
  readonly folder: string
  /** Of Kubernetes, as in "v1.36.3": the programs tell it as their own. */
  readonly version: string
  readonly onProgress: OnProgress
  /** Whether the folder has all programs. Asked when another process was faster. */
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
  const workshop = await mkdtemp(`${options.folder}.building-`)
  const watchdog = startWatchdog(workshop)
  try {
    options.onProgress(`Building the real control plane ${options.version} (once, some minutes) into ${options.folder}`)
    for (const program of Object.keys(sources)) await buildOne(program, workshop, options)
    await putInPlace(workshop, options)
  } finally {
    await rm(workshop, { recursive: true, force: true })
    await watchdog.dismiss()
  }
}

/** Two builders at once work for nothing, but do not disturb each other: the first whole folder stays. */
async function putInPlace(workshop: string, { folder, isComplete }: BuildOptions): Promise<void> {
  try {
    await rename(workshop, folder)
  } catch (error) {
    if (await isComplete()) return
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    await rm(folder, { recursive: true, force: true })
    await rename(workshop, folder)
  }
}

async function checkGo(): Promise<void> {
  const needed = /^go (\d+\.\d+)/m.exec(await readFile(join(moduleFolder, 'go.mod'), 'utf8'))?.[1]
  try {
    // Inside the module, an older Go fetches the toolchain that go.mod asks for, or says why it cannot.
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

async function buildOne(program: string, workshop: string, { version, onProgress }: BuildOptions): Promise<void> {
  const began = Date.now()
  let packages = 0
  const report = (): void => {
    const seconds = Math.round((Date.now() - began) / 1000)
    onProgress(`  ${program}: ${packages} packages compiled, ${seconds} s`)
  }
  const timer = setInterval(report, progressEveryMs)
  try {
    const args = ['build', ...goFlags(version), '-o', join(workshop, program), sources[program] as string]
    await runGo(args, { workshop, onPackage: () => (packages += 1) })
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

/** With -v, Go names each package that it compiles in a line of its own; all other lines are complaints. */
async function runGo(args: readonly string[], options: { workshop: string; onPackage: () => void }): Promise<void> {
  const pidFile = join(options.workshop, 'go.pid')
  const go = spawn(...toLaunch(pidFile, 'go', args), {
    cwd: moduleFolder,
    // Its temporary files go with our folder, also when we are killed.
    env: { ...process.env, CGO_ENABLED: '0', GOTMPDIR: options.workshop },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  const complaints: string[] = []
  createInterface(go.stderr).on('line', (line) => {
    if (/^[\w.~/-]+$/.test(line)) options.onPackage()
    else complaints.push(line)
  })
  const status = await new Promise<number | null>((resolve, reject) => go.on('error', reject).on('close', resolve))
  await rm(pidFile, { force: true })
  if (status !== 0)
    throw new Error(`Cannot build ${args.at(-1)}: go exited with ${status}\n${complaints.slice(-20).join('\n')}`)
}
