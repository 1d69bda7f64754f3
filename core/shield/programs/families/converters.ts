import type { SimpleCommand } from "../../model.ts";
import { hasFlag, hasOption, operands, optionValues, wordsOf } from "../arguments.ts";
import type { Family, Finder } from "../family.ts";
import { isPath, valuesOf, within } from "../texts.ts";

/** Options of media tools whose value is the next word, and may be a file that they read. */
const MEDIA_VALUED = new Set(
  "-i -f -t -ss -to -c -codec -vf -af -map -r -s -b:v -b:a -crf -preset -loglevel -v -filter_complex"
    .split(" "),
);

/** The file behind all options; `-` is standard output. */
const mediaTarget: Finder = (command) =>
  operands(command, MEDIA_VALUED).slice(-1).filter((path) => isPath(path) && path !== "null");

/** `convert a.png b.png`: with one file alone it writes none. */
const secondOperand: Finder = (command) => {
  const words = operands(command, IMAGE_VALUED);
  return words.length > 1 ? words.slice(-1).filter(isPath) : [];
};

const IMAGE_VALUED = new Set(
  "-resize -quality -crop -gravity -format -density -geometry -rotate -background -page-size".split(
    " ",
  ),
);

/** Programs that change every picture that they name, unless a folder is given. */
const editedImages: Finder = (command) => {
  if (hasFlag(command, "", "dry-run", "simulate", "noaction", "no-action", "version")) return [];
  const folders = optionValues(command, "-path", "--dest", "-d", "--out-dir", "-dir");
  const words = operands(command, IMAGE_VALUED);
  return folders.length > 0 ? within(folders) : words;
};

/** `-Title=x`, `-all=`, `-tagsFromFile x`: a tag that is set. */
const SETS_TAG = /^-(?:[\w:*-]+[+<-]?=|tagsfromfile)/i;

/** The files of which tags change; the other calls print tags. */
const taggedFiles: Finder = (command) =>
  command.args.some((arg) => SETS_TAG.test(arg)) ? wordsOf(command) : [];

/** ImageMagick: its other programs stand as the first word. */
const magickTarget: Finder = (command) => {
  const [first = "", ...rest] = command.args;
  switch (first) {
    case "identify":
      return [];
    case "mogrify":
      return editedImages({ ...command, args: rest, memo: { ...command.memo, words: null } });
    default:
      return secondOperand(command);
  }
};

/** `-sOutputFile=/srv/x.pdf`. */
const ghostTarget: Finder = (command) => [
  ...optionValues(command, "-o", "-sOutputFile"),
];

/** The word behind `output`. */
const wordBehind = (word: string): Finder => ({ args }) =>
  args.filter((_, at) => args[at - 1] === word);

/** Subcommands of disk image tools, and where the image stands that they write. */
function imageFile(command: SimpleCommand): readonly string[] {
  const [verb = "", ...rest] = operands(command, DISK_VALUED);
  switch (verb) {
    case "convert":
    case "dd":
      return rest.slice(-1);
    case "create":
    case "resize":
    case "rebase":
    case "commit":
    case "amend":
      return rest.slice(0, 1);
    case "snapshot":
      return hasOption(command, "-l") ? [] : rest;
    default:
      return [];
  }
}

const DISK_VALUED = new Set(["-f", "-O", "-o", "-b", "-F", "-B", "-a", "-c", "-d"]);

/** Programs that convert media, pictures, documents and disk images. */
export const CONVERTERS: readonly Family[] = [
  { names: ["avconv", "ffmpeg"], writes: mediaTarget },
  {
    names: ["lame", "opusenc", "ps2pdf", "pdfunite", "pdfseparate", "pdftotext", "wkhtmltopdf"],
    writes: secondOperand,
  },
  { names: ["sox", "pdfjam", "wkhtmltoimage", "heif-convert", "gm"], writes: secondOperand },
  { names: ["convert", "composite", "montage"], writes: secondOperand },
  { names: ["crane", "lessc", "sass", "sphinx-build"], writes: secondOperand },
  { names: ["magick"], writes: magickTarget },
  {
    names: [
      "advpng",
      "gifsicle",
      "jpegoptim",
      "jpegtran",
      "mogrify",
      "optipng",
      "oxipng",
      "pngcrush",
      "pngquant",
      "svgo",
    ],
    writes: editedImages,
  },
  { names: ["exiftool"], writes: taggedFiles },
  { names: ["eyed3", "id3v2", "metaflac", "exiv2", "mid3v2"], writes: editedTags },
  { names: ["gs"], writes: ghostTarget },
  { names: ["pdftk"], writes: wordBehind("output") },
  {
    names: ["qpdf"],
    writes: (command) =>
      hasOption(command, "--replace-input") ? operands(command) : secondOperand(command),
  },
  {
    names: ["cwebp", "dwebp", "img2pdf", "mkvmerge", "oggenc", "rsvg-convert", "xsltproc", "flac"],
    writes: valuesOf("-o", "--output", "--output-name"),
  },
  {
    names: ["genisoimage", "handbrakecli", "inkscape", "mkisofs", "mksquashfs", "xorrisofs"],
    writes: valuesOf("-o", "--output", "--export-filename", "-output"),
  },
  {
    names: ["youtube-dl", "yt-dlp"],
    writes: (command) => [
      ...optionValues(command, "-o", "--output"),
      ...within(optionValues(command, "-P", "--paths")),
    ],
  },
  {
    names: ["libreoffice", "soffice"],
    writes: (command) => within(optionValues(command, "--outdir")),
  },
  { names: ["qemu-img"], writes: imageFile },
];

/** Options that change tags, or take them away. */
function editedTags(command: SimpleCommand): readonly string[] {
  return command.args.some((arg) => TAG_OPTION.test(arg)) ? wordsOf(command) : [];
}

const TAG_OPTION =
  /^-(?:[taAyTcgDdsCM]|-(?:set|remove|import|delete|song|artist|album|title|year|add)[\w-]*(?:=.*)?)$/;
