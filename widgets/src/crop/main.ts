// /widget/v1/_/crop.js: crops and turns a shopper's photo before it is sent. The search box loads
// this when a photo is chosen.

import type { Cropping } from "../core/photo";
import { editPhoto } from "./editor";

const page = window.ProductRecs as Cropping | undefined;
if (page) page.crop = editPhoto;
