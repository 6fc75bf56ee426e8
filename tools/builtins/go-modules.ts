/** Finds the pinned Go modules of Kubernetes in the module cache. Used by the generators of this folder. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The folder of a module, at the version that tools/envtest/go.mod pins. */
export function moduleFolder(name: string): string {
  const cwd = fileURLToPath(new URL('../envtest', import.meta.url))
  return execFileSync('go', ['list', '-m', '-f', '{{.Dir}}', name], { cwd, encoding: 'utf8' }).trim()
}
