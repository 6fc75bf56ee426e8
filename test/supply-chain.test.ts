/** The provenance of the package: its repository, its bill of materials, and the hashes of its dependencies. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly homepage: string
  readonly bugs: { readonly url: string; readonly email: string }
  readonly repository: { readonly type: string; readonly url: string; readonly directory?: string }
  readonly publishConfig: object
  readonly files: readonly string[]
  readonly dependencies: Readonly<Record<string, string>>
}

interface Locked {
  readonly version: string
  readonly integrity?: string
  readonly resolved?: string
  readonly optional?: boolean
  readonly dev?: boolean
}

const readJson = <T>(path: string) => JSON.parse(readFileSync(path, 'utf8')) as T
const manifest = readJson<Manifest>('package.json')

describe('package metadata', () => {
  test('the package has one repository, from which its other addresses are derived', () => {
    const address = /^git\+(https:\/\/.+)\.git$/.exec(manifest.repository.url)?.[1]
    expect(manifest).toMatchObject({
      homepage: `${address}#readme`,
      bugs: { url: `${address}/issues`, email: expect.stringContaining('@') },
      repository: { type: 'git' },
      publishConfig: { access: 'public', provenance: true },
    })
    expect(manifest.files).toContain('SECURITY.md')
  })

  test('the package create-kopf has the same repository', () => {
    const { repository, homepage, bugs, publishConfig } = readJson<Manifest>('packages/create-kopf/package.json')
    expect(repository).toEqual({ ...manifest.repository, directory: 'packages/create-kopf' })
    expect([homepage, bugs, publishConfig]).toEqual([manifest.homepage, manifest.bugs, manifest.publishConfig])
  })

  test('the package create-kopf has the same version, and installs that version of kopf', () => {
    const { version, dependencies } = readJson<Manifest>('packages/create-kopf/package.json')
    expect([version, dependencies]).toEqual([manifest.version, { kopf: manifest.version }])
  })

  test('issue forms and the documentation site name the same repository as the package', () => {
    for (const file of ['.github/ISSUE_TEMPLATE/config.yml', 'docs/.vitepress/pages.ts']) {
      const addresses = [...readFileSync(file, 'utf8').matchAll(/https:\/\/github\.com\/[^/\s']+\/[^/\s']+/g)]
      expect([file, ...new Set(addresses.map(String))]).toEqual([file, manifest.homepage.replace('#readme', '')])
    }
  })

  test('SECURITY.md says how to report a vulnerability without a hard-coded address', () => {
    const text = readFileSync('SECURITY.md', 'utf8')
    expect(text).toContain('npm view kopf bugs.email')
    expect(text).not.toMatch(/OWNER|@example|github\.com/)
  })
})

describe('workflows', () => {
  const workflows = ['ci', 'release'].map((name) => readFileSync(`.github/workflows/${name}.yaml`, 'utf8'))

  test('workflows name every action by the hash of a commit, since a tag can be moved', () => {
    const actions = workflows.flatMap((text) => [...text.matchAll(/uses: (.*)/g)].map(([, action]) => action))
    expect(actions.length).toBeGreaterThan(7)
    expect(actions.filter((action) => !/^actions\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/.test(action!))).toEqual([])
  })

  test('the job with the permission to publish installs nothing', () => {
    const [, publish] = workflows[1]!.split('\n  publish:\n')
    expect(publish).toContain('id-token: write')
    expect(publish).not.toMatch(/npm (ci|install)|npm run|npx/)
    expect(workflows[1]!.split('\n  publish:\n')[0]).not.toContain('id-token')
  })
})

interface Component {
  readonly type: string
  readonly 'bom-ref': string
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly scope: string
  readonly hashes: ReadonlyArray<{ readonly alg: string; readonly content: string }>
  readonly licenses: readonly unknown[]
  readonly properties: readonly unknown[]
}

interface Sbom {
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: ReadonlyArray<{ readonly ref: string; readonly dependsOn: readonly string[] }>
}

describe('bill of materials', () => {
  const built = inject('package')
  const sbom = readJson<Sbom>(join(built, 'dist/sbom.cdx.json'))

  test('the bill of materials has the fields that CycloneDX 1.6 requires', () => {
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      specVersion: '1.6',
      version: 1,
      serialNumber: expect.stringMatching(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/),
    })
    for (const component of sbom.components) {
      expect(component).toMatchObject({
        type: 'library',
        name: expect.stringMatching(/./),
        version: expect.stringMatching(/^\d/),
        purl: expect.stringMatching(/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@[\w.+-]+$/),
        scope: expect.stringMatching(/^(required|optional)$/),
        hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }],
        licenses: [expect.anything()],
      })
    }
    const refs = [sbom.metadata.component, ...sbom.components].map((component) => component['bom-ref'])
    expect(new Set(refs).size).toBe(refs.length)
    expect(sbom.dependencies.map(({ ref }) => ref).sort()).toEqual(refs.toSorted())
    for (const { dependsOn } of sbom.dependencies) expect(refs).toEqual(expect.arrayContaining([...dependsOn]))
  })

  test('the bill of materials lists every bundled library and dependency, with the locked version and hash', () => {
    const licences = readFileSync(join(built, 'dist/THIRD-PARTY-LICENSES'), 'utf8')
    const bundled = [...licences.matchAll(/^(\S+) (\d\S*) \([^)]+\)$/gm)].map(
      ([, name, version]) => `${name}@${version}`,
    )
    expect(bundled.length).toBeGreaterThan(6)
    const isBundled = ({ properties }: Component) => JSON.stringify(properties).includes('"true"')
    const listed = sbom.components.filter(isBundled).map(({ name, version }) => `${name}@${version}`)
    expect(listed.sort()).toEqual(bundled.sort())
    const { packages } = readJson<{ packages: Record<string, Locked> }>('package-lock.json')
    for (const name of Object.keys(manifest.dependencies)) {
      const { version, integrity } = packages[`node_modules/${name}`]!
      const content = Buffer.from(integrity!.slice('sha512-'.length), 'base64').toString('hex')
      expect(sbom.components).toContainEqual(
        expect.objectContaining({ name, version, hashes: [{ alg: 'SHA-512', content }] }),
      )
    }
  })
})

/**
 * Binaries of development tools for other platforms that the registry of the last `npm install` did not have, so that npm could not
 * write their hashes. Nothing of them is in the package. On such a platform, `npm install` adds the hash; then remove the line here.
 */
const platforms: Readonly<Record<string, string>> = {
  '@biomejs/cli': 'android-arm64 android-x64 darwin-arm64 darwin-x64 win32-arm64 win32-x64',
  '@oxc-parser/binding':
    'android-arm-eabi android-arm64 darwin-arm64 darwin-x64 freebsd-x64 linux-arm-gnueabihf linux-arm-musleabihf linux-ppc64-gnu linux-riscv64-gnu linux-riscv64-musl linux-s390x-gnu openharmony-arm64 win32-arm64-msvc win32-ia32-msvc win32-x64-msvc',
  '@rolldown/binding':
    'android-arm-eabi android-arm64 darwin-arm64 darwin-x64 freebsd-x64 linux-arm-gnueabihf linux-ppc64-gnu linux-s390x-gnu openharmony-arm64 wasm32-wasi win32-arm64-msvc win32-x64-msvc',
}
const withoutHash = Object.entries(platforms).flatMap(([name, list]) =>
  list.split(' ').map((platform) => `node_modules/${name}-${platform}`),
)

describe.each([
  ['package-lock.json', withoutHash],
  ['docs/package-lock.json', []],
])('lock file %s', (path, exceptions) => {
  const { packages } = readJson<{ packages: Record<string, Locked> }>(path)
  const entries = Object.entries(packages).filter(([folder]) => folder !== '')

  test('the lock file has a hash for every package except for listed binaries of other platforms', () => {
    const missing = entries.filter(([, { integrity = '' }]) => !integrity.startsWith('sha512-'))
    expect(missing.map(([folder]) => folder).sort()).toEqual(exceptions.toSorted())
    expect(missing.filter(([, { dev, optional }]) => !dev || !optional)).toEqual([])
  })

  test('the lock file names no registry, since each user has their own', () => {
    expect(entries.filter(([, { resolved }]) => resolved !== undefined)).toEqual([])
  })
})
