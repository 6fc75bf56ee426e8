import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'

export async function readClaim(name: string, size: string) {
  const text = await readFile(new URL('./claim.yaml', import.meta.url), 'utf8')
  const template = parse(text)
  return {
    ...template,
    metadata: { ...template.metadata, name },
    spec: { ...template.spec, resources: { requests: { storage: size } } },
  }
}
