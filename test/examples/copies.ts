/** Copies of examples beside the built package: there `kopf` is the package as it is published, and `..` has what all of them share. */
import { cpSync, mkdtempSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { inject } from 'vitest'

/** The path of the copy. */
export function copyExample(folder: string): string {
  const build = resolve(dirname(inject('command')), '..', '..')
  cpSync('peering.yaml', join(build, 'peering.yaml'))
  cpSync(join('examples', 'crd.yaml'), join(build, 'examples', 'crd.yaml'))
  const copy = mkdtempSync(join(build, 'examples', `${folder}-`))
  cpSync(join('examples', folder), copy, { recursive: true })
  return copy
}
