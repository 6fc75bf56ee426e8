/** Copies of examples beside the built package, where `kopf` is the package as published and `..` has the shared files. */
import { cpSync, mkdtempSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { inject } from 'vitest'

/** Copies an example and returns the path of the copy. */
export function copyExample(folder: string): string {
  const build = resolve(dirname(inject('command')), '..', '..')
  cpSync('peering.yaml', join(build, 'peering.yaml'))
  cpSync(join('examples', 'crd.yaml'), join(build, 'examples', 'crd.yaml'))
  const copy = mkdtempSync(join(build, 'examples', `${folder}-`))
  cpSync(join('examples', folder), copy, { recursive: true })
  return copy
}
