/**
 * Finds Python's Kopf, or installs it into the user's cache folder, next to the programs of the control plane.
 * Called by the interop tests and the benchmarks. pip uses the user's own settings, including the package index.
 */
import { execFile } from 'node:child_process'
import { access, constants, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

/** The version of Python's Kopf that the tests and benchmarks use. */
export const kopfVersion = '1.45.2'

export interface Kopf {
  /** The interpreter that has Kopf. */
  readonly python: string
  /** The command `kopf`. */
  readonly kopf: string
}

const run = promisify(execFile)
const candidates = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11'] as const
const minPython = [3, 11] as const

/** The first call on a machine installs Kopf, which takes some seconds; later calls only check the folder. */
export async function ensureKopf(options: { onProgress?: (line: string) => void } = {}): Promise<Kopf> {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const folder = join(cache, 'kopf', `venv-${kopfVersion}`)
  const found = { python: join(folder, 'bin', 'python'), kopf: join(folder, 'bin', 'kopf') }
  if (!(await isComplete(found))) {
    options.onProgress?.(`Installing Python's kopf ${kopfVersion} (once) into ${folder}`)
    await install(folder, found)
  }
  return found
}

async function isComplete({ python, kopf }: Kopf): Promise<boolean> {
  const checks = [python, kopf].map((path) => access(path, constants.X_OK))
  return (await Promise.allSettled(checks)).every(({ status }) => status === 'fulfilled')
}

/** Installs into a temporary folder and renames it when it is complete, so that the cache never has a partial installation. */
async function install(folder: string, found: Kopf): Promise<void> {
  const python = await findPython()
  await mkdir(dirname(folder), { recursive: true })
  const venv = await mkdtemp(`${folder}.installing-`)
  try {
    await createVenv(python, venv)
    await installKopf(venv)
    await rewriteShebangs(join(venv, 'bin'), venv, folder)
    await rename(venv, folder).catch(async (error: unknown) => {
      // Another process finished first: the first complete folder stays.
      if (!(await isComplete(found))) throw error
    })
  } finally {
    await rm(venv, { recursive: true, force: true })
  }
}

async function findPython(): Promise<string> {
  const seen: string[] = []
  for (const program of candidates) {
    const version = await versionOf(program)
    if (version === undefined) continue
    const [major, minor] = version.split('.').map(Number) as [number, number]
    if (major === minPython[0] && minor >= minPython[1]) return program
    seen.push(`${program} is ${version}`)
  }
  const state = seen.length === 0 ? '"python3" is not in PATH' : seen.join(', ')
  throw new Error(`Cannot install kopf ${kopfVersion}: ${state}; install Python ${minPython.join('.')} or newer`)
}

async function versionOf(program: string): Promise<string | undefined> {
  try {
    const { stdout } = await run(program, ['-c', 'import platform; print(platform.python_version())'])
    return stdout.trim()
  } catch {
    return undefined
  }
}

async function createVenv(python: string, folder: string): Promise<void> {
  try {
    await run(python, ['-m', 'venv', folder])
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(
      `Cannot create a virtual environment with ${python}: ${(stderr || stdout || String(error)).trim()}; ` +
        'on Debian and Ubuntu it comes with the package python3-venv',
      { cause: error },
    )
  }
}

async function installKopf(venv: string): Promise<void> {
  const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `kopf==${kopfVersion}`]
  try {
    await run(join(venv, 'bin', 'python'), args)
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string }
    const lines = stderr.trim().split('\n').slice(-5).join('\n')
    throw new Error(`Cannot install kopf ${kopfVersion}: pip failed\n${lines}`, { cause: error })
  }
}

/** The scripts of a virtual environment contain the absolute path of their interpreter, which changes with the rename. */
async function rewriteShebangs(bin: string, from: string, to: string): Promise<void> {
  for (const entry of await readdir(bin, { withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(bin, entry.name)
    const text = await readFile(path, 'utf8')
    if (text.includes(from)) await writeFile(path, text.replaceAll(from, to))
  }
}
