"""Reads detections with the programs that users read them with, and prints what was found, as JSON.

    python python/readers/check.py coco found.json           pycocotools, as a data set
    python python/readers/check.py coco-results set.json found.json    pycocotools' loadRes, and its evaluation of boxes
    python python/readers/check.py label-studio tasks.json a b          the validator of Label Studio's SDK; classes a, b
    python python/readers/check.py voc DIRECTORY             an XML parser
"""

import contextlib
import json
import pathlib
import sys
import xml.etree.ElementTree


def coco(path):
    from pycocotools.coco import COCO

    found = COCO(path)
    images = found.loadImgs(found.getImgIds())
    boxes = {image["file_name"]: len(found.getAnnIds(imgIds=[image["id"]])) for image in images}
    return {"images": boxes, "categories": [category["name"] for category in found.loadCats(found.getCatIds())]}


def coco_results(truth, path):
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth = COCO(truth)
    found = truth.loadRes(path)
    evaluation = COCOeval(truth, found, "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    return {"boxes": len(found.getAnnIds()), "ap50": evaluation.stats[1]}


def label_studio(path, *classes):
    from label_studio_sdk.label_interface import LabelInterface

    labels = "".join(f'<Label value="{name}"/>' for name in classes)
    interface = LabelInterface(
        '<View><Image name="image" value="$image"/>'
        f'<RectangleLabels name="label" toName="image">{labels}</RectangleLabels></View>'
    )
    tasks = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    errors, boxes = [], []
    for task in tasks:
        if not interface.validate_task({"data": task["data"]}):
            errors.append(f"task {task['data']}")
        for prediction in task["predictions"]:
            errors += interface.validate_prediction(prediction, return_errors=True)
            boxes.append(len(prediction["result"]))
    return {"boxes": boxes, "errors": errors}


def voc(directory):
    read = {}
    for path in sorted(pathlib.Path(directory).glob("*.xml")):
        root = xml.etree.ElementTree.parse(path).getroot()
        size = [int(root.find(f"size/{side}").text) for side in ("width", "height", "depth")]
        corners = ("xmin", "ymin", "xmax", "ymax")
        objects = [
            [found.find("name").text, *(int(found.find(f"bndbox/{corner}").text) for corner in corners)]
            for found in root.iter("object")
        ]
        read[root.find("filename").text] = {"size": size, "objects": objects}
    return read


READERS = {"coco": coco, "coco-results": coco_results, "label-studio": label_studio, "voc": voc}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in READERS:
        sys.exit(__doc__)
    # The readers print what they do.
    with contextlib.redirect_stdout(sys.stderr):
        found = READERS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps(found, indent=1))
