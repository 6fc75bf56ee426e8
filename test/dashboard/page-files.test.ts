/** The files of the dashboard's page, as they are packed and served. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { brotliDecompressSync } from 'node:zlib'
import { describe, expect, inject, test } from 'vitest'

const folder = join(inject('package'), 'dist', 'dashboard')
const files = readdirSync(folder).sort()
const read = (name: string) => brotliDecompressSync(readFileSync(join(folder, `${name}.br`))).toString('utf8')

describe('the page of the dashboard', () => {
  test('the page has four files, which are compressed', () => {
    expect(files).toEqual(['dashboard.css.br', 'dashboard.js.br', 'icon.svg.br', 'index.html.br'])
  })

  test('the page takes at most 40 KB, compressed', () => {
    const sizes = files.map((file) => statSync(join(folder, file)).size)
    expect(Math.min(...sizes)).toBeGreaterThan(50)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(40 * 1024)
  })

  test('the page names its files relative to its own address, and no other', () => {
    const page = read('index.html')
    const addresses = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address)
    expect(addresses).toEqual(['icon.svg', 'dashboard.css', 'dashboard.js'])
    expect(page).not.toMatch(/<script(?![^>]* src=)|<style|style=|\son\w+=/)
  })

  test('the script and the style sheet name no address of another machine', () => {
    // The namespaces of SVG, MathML and XHTML are names, which no browser requests.
    const script = read('dashboard.js').replaceAll(/http:\/\/www\.w3\.org\/[\w/]+/g, '')
    expect(script).not.toMatch(/https?:\/\//)
    expect(read('dashboard.css')).not.toMatch(/url\(|@import/)
  })
})
